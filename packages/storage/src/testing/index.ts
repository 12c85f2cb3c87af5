export { DelegatingStorage } from "./delegate.ts";
export type { BlobHarness } from "./describe-blobs.ts";
export { describeBlobs } from "./describe-blobs.ts";
export { describeStorage, runScenario } from "./describe-storage.ts";
export type {
  CreateHarness,
  OpenOptions,
  Scenario,
  ScenarioContext,
  ScenarioGroup,
  StorageHarness,
} from "./harness.ts";
export { checkHistory } from "./history/check-history.ts";
export type {
  EventRecord,
  GuardRecord,
  History,
  Moment,
  ReadCall,
  Sighting,
  Violation,
  WatchRecord,
  WriteCall,
  WriteResult,
  WriteStepRecord,
} from "./history/history.ts";
export type { WorkloadOptions } from "./history/workload.ts";
export { runWorkload } from "./history/workload.ts";
export { SmallDisk } from "./live/small-disk.ts";
export { STORAGE_SCENARIOS } from "./scenarios.ts";
