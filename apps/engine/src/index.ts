// The library.

export type {
  ApplyRequest,
  ApplyResult,
  NodeResult,
  RunStatus,
} from "./apply/execute.ts";
export type { RecoveredOperation } from "./apply/recover.ts";
export type { ApplyTimeouts, CallTimeouts } from "./apply/timeouts.ts";
export type {
  Engine,
  EngineApplyRequest,
  EngineOptions,
  EnginePlanRequest,
  EnginePlanResult,
  EngineValidateRequest,
} from "./engine.ts";
export { createEngine, planVariables } from "./engine.ts";
export type { EngineErrorCode } from "./errors.ts";
export { ENGINE_ERRORS, EngineError, isEngineError } from "./errors.ts";
export type { EventSink, NodeStatus, RunEvent, RunPhase, StepAction } from "./events.ts";
// Plans.
export type {
  Action,
  ActionReason,
  AttributeCause,
  Drift,
  OutputChange,
  ReplaceOrder,
  ResourceChange,
} from "./plan/change.ts";
export type { Configuration, LoadConfigurationOptions } from "./plan/configuration.ts";
export { isUsable, loadConfiguration } from "./plan/configuration.ts";
export type {
  FrozenExpansion,
  Plan,
  PlanMode,
  PlannedProvider,
  PlanOptions,
  PlanResult,
  PlanSummary,
  ReadPolicy,
} from "./plan/plan.ts";
export { hasChanges, summarizePlan } from "./plan/plan.ts";
export { decodePlan, encodePlan } from "./plan/plan-codec.ts";
export { PLAN_JSON_FORMAT, planToJson } from "./plan/plan-json.ts";
export type { SecretDisplay } from "./plan/shown-plan.ts";
export type { TerraformJsonOptions } from "./plan/terraform-json.ts";
export { planToTerraformJson } from "./plan/terraform-json.ts";
export { builtinOrigin, programOrigin } from "./providers/builtin-origin.ts";
export type {
  OpenedProviders,
  OpenOptions,
  ProviderCatalog,
  ProviderOrigin,
  ProviderRequirement,
} from "./providers/catalog.ts";
export { createCatalog } from "./providers/catalog.ts";
export type { InstalledOriginOptions } from "./providers/installed-origin.ts";
export { installedOrigin } from "./providers/installed-origin.ts";
export type { LegacyOriginOptions } from "./providers/legacy-origin.ts";
export { legacyOrigin } from "./providers/legacy-origin.ts";
export type { LocalProvider } from "./providers/local-provider.ts";
export type { PrivateOriginOptions, PrivateProviderVersion } from "./providers/private-origin.ts";
export { privateOrigin } from "./providers/private-origin.ts";
export type { PulumiOriginOptions } from "./providers/pulumi-origin.ts";
export { pulumiOrigin } from "./providers/pulumi-origin.ts";
// Providers.
export type { RetryPolicy } from "./providers/retry-provider.ts";
// State.
export type { KeyEncryptionKey, KeySource } from "./secrets/key-encryption.ts";
export { keyEncryptionKey, loadKey } from "./secrets/key-encryption.ts";
export type { Redactor } from "./secrets/redactor.ts";
export { createRedactor } from "./secrets/redactor.ts";
export type { CipherSource, StoredKeys } from "./secrets/stack-keys.ts";
export { createStoredKeys } from "./secrets/stack-keys.ts";
export type { NewRun, Run, RunPatch, RunPhase as StoredRunPhase, Runs } from "./state/runs.ts";
export { createRuns, isEnded, RUN_TRANSITIONS } from "./state/runs.ts";
export type {
  PublishedStack,
  PublishingStack,
  StackFinder,
  StackInputsOptions,
  StackName,
} from "./state/stack-inputs.ts";
export { checkInputs, StackInputs } from "./state/stack-inputs.ts";
export type {
  StackHold,
  StackInput,
  StackOutput,
  StackReference,
  StackSnapshot,
  StackState,
} from "./state/stack-state.ts";
export type { StackStates, StackStatesOptions } from "./state/stack-states.ts";
export { createStackStates } from "./state/stack-states.ts";
export type { Surgery, SurgeryChange, SurgeryPlan } from "./state/surgery.ts";
export { applySurgery, planSurgery } from "./state/surgery.ts";
export type { ExportOptions } from "./tfstate/export-state.ts";
export { exportState } from "./tfstate/export-state.ts";
export type { ImportedState } from "./tfstate/import-state.ts";
export { importState } from "./tfstate/import-state.ts";
export type { TerraformState } from "./tfstate/state-file.ts";
export { formatStateFile, parseStateFile } from "./tfstate/state-file.ts";
export type { ValidationResult } from "./validate/validate-configuration.ts";
export type { UncheckedProvider } from "./validate/validation-providers.ts";
export type { EngineClock } from "./walk/clock.ts";
export { processClock } from "./walk/clock.ts";
export type { Limit } from "./walk/limits.ts";
