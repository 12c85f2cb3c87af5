import type { ScenarioGroup } from "./harness.ts";
import { READ_SCENARIOS } from "./scenario/read.ts";

/** The conformance suite as data. */
export const STORAGE_SCENARIOS: readonly ScenarioGroup[] = [READ_SCENARIOS];
