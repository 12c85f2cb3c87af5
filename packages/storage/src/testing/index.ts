export { describeStorage, runScenario } from "./describe-storage.ts";
export type {
  CreateHarness,
  OpenOptions,
  Scenario,
  ScenarioContext,
  ScenarioGroup,
  StorageHarness,
} from "./harness.ts";
export { STORAGE_SCENARIOS } from "./scenarios.ts";
