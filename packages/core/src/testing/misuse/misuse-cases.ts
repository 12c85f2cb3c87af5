import { INSTANCE_CASES } from "./instance-cases.ts";
import type { MisuseCase } from "./misuse-case.ts";
import { MODULE_CASES } from "./module-cases.ts";
import { VALUE_CASES } from "./value-cases.ts";

/** Ephemeral values in every place of a configuration. */
export const MISUSE_CASES: readonly MisuseCase[] = [
  ...VALUE_CASES,
  ...INSTANCE_CASES,
  ...MODULE_CASES,
];
