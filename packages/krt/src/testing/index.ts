export { checkTransformation } from "./check-transformation.ts";
export type {
  ConformanceCase,
  ConformanceCaseOf,
  ConformanceRig,
  ReplaceRig,
} from "./conformance.ts";
export { collectionConformance, replaceConformance } from "./conformance.ts";
export { ManualScheduler } from "./manual-scheduler.ts";
export type { MockInputs } from "./mock-inputs.ts";
export { mockInputs } from "./mock-inputs.ts";
export type { RecordedFetch, TestContext } from "./test-context.ts";
export { createTestContext } from "./test-context.ts";
export type { EventTracker } from "./tracker.ts";
export { trackEvents } from "./tracker.ts";
