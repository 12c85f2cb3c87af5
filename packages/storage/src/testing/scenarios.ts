import type { ScenarioGroup } from "./harness.ts";
import { DELETE_SCENARIOS } from "./scenario/delete.ts";
import { LIST_SCENARIOS } from "./scenario/list.ts";
import { OWNER_SCENARIOS } from "./scenario/owner.ts";
import { READ_SCENARIOS } from "./scenario/read.ts";
import { WRITE_SCENARIOS } from "./scenario/write.ts";

/** The conformance suite as data. */
export const STORAGE_SCENARIOS: readonly ScenarioGroup[] = [
  READ_SCENARIOS,
  WRITE_SCENARIOS,
  DELETE_SCENARIOS,
  LIST_SCENARIOS,
  OWNER_SCENARIOS,
];
