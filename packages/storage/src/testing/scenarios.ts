import type { ScenarioGroup } from "./harness.ts";
import { CONCURRENCY_SCENARIOS } from "./scenario/concurrency.ts";
import { DELETE_SCENARIOS } from "./scenario/delete.ts";
import { DIFFERENTIAL_SCENARIOS } from "./scenario/differential.ts";
import { BATCH_SCENARIOS, GUARD_SCENARIOS } from "./scenario/extension.ts";
import { INPUT_SCENARIOS } from "./scenario/input.ts";
import { LARGE_SCENARIOS } from "./scenario/large.ts";
import { LIST_SCENARIOS } from "./scenario/list.ts";
import { OWNER_SCENARIOS } from "./scenario/owner.ts";
import { PAGED_LIST_SCENARIOS } from "./scenario/paged-list.ts";
import { READ_SCENARIOS } from "./scenario/read.ts";
import { RESUME_SCENARIOS } from "./scenario/resume.ts";
import { SNAPSHOT_SCENARIOS } from "./scenario/snapshot.ts";
import { WATCH_SCENARIOS } from "./scenario/watch.ts";
import { WATCH_RACE_SCENARIOS } from "./scenario/watch-race.ts";
import { WRITE_SCENARIOS } from "./scenario/write.ts";

/** The conformance suite as data. */
export const STORAGE_SCENARIOS: readonly ScenarioGroup[] = [
  READ_SCENARIOS,
  WRITE_SCENARIOS,
  DELETE_SCENARIOS,
  LIST_SCENARIOS,
  PAGED_LIST_SCENARIOS,
  OWNER_SCENARIOS,
  WATCH_SCENARIOS,
  WATCH_RACE_SCENARIOS,
  RESUME_SCENARIOS,
  LARGE_SCENARIOS,
  GUARD_SCENARIOS,
  BATCH_SCENARIOS,
  SNAPSHOT_SCENARIOS,
  CONCURRENCY_SCENARIOS,
  INPUT_SCENARIOS,
  DIFFERENTIAL_SCENARIOS,
];
