// The library.

export type { SchemaChange } from "@stackwright/mux/router";
export type { TerraformState } from "@stackwright/tfstate";
export { formatStateFile } from "@stackwright/tfstate";
export type { AdoptStateRequest } from "./adoption/adopt-state.ts";
export { adoptState } from "./adoption/adopt-state.ts";
export type { BackendRecord } from "./adoption/backend-record.ts";
export { readBackendRecord } from "./adoption/backend-record.ts";
export type { Detection } from "./adoption/detect-adoption.ts";
export { detectAdoption } from "./adoption/detect-adoption.ts";
export {
  selectedWorkspace,
  terraformDataFolder,
  writtenDataFolder,
} from "./adoption/terraform-workspace.ts";
export type {
  ApplyResult,
  ExecutePlanRequest,
  NodeResult,
} from "./apply/execute.ts";
export type { RecoveredOperation, Resolution } from "./apply/recover.ts";
export type { ApplyTimeouts, CallTimeouts } from "./apply/timeouts.ts";
export { findBundleRoot } from "./configuration/bundle-root.ts";
export type { Configuration, LoadConfigurationOptions } from "./configuration/configuration.ts";
export { hasNoErrors, loadConfiguration } from "./configuration/configuration.ts";
export type { ObjectToWrite } from "./configuration/generated-resource.ts";
export { resourceBlock } from "./configuration/generated-resource.ts";
export { LANGUAGE_VERSION, OPENTOFU_VERSION } from "./configuration/language-version.ts";
export { createMeantSource } from "./configuration/meant-source.ts";
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
export type {
  RunEvent,
  RunEventHandler,
  RunStage,
  StepAction,
  StepName,
  StepStatus,
} from "./events.ts";
export { readCallerKey, signatureKey } from "./functions/caller-credentials.ts";
export { loadFunctionTargets } from "./functions/function-targets.ts";
export type { FunctionRows } from "./functions/server-functions.ts";
export { openServerFunctions } from "./functions/server-functions.ts";
export { moduleCacheFolder } from "./modules/module-cache.ts";
export type {
  InstalledModules,
  InstallMode,
  ModuleInstallerOptions,
} from "./modules/module-installer.ts";
export { ModuleInstaller } from "./modules/module-installer.ts";
export type { LockedModule } from "./modules/module-lock.ts";
export {
  MODULE_LOCK_NAME,
  ModuleLock,
  readModuleLock,
  writeModuleLock,
} from "./modules/module-lock.ts";
export type { ModuleRecord } from "./modules/module-manifest.ts";
// Plans.
export { byAddress } from "./plan/by-address.ts";
export type {
  Action,
  ActionReason,
  AttributeCause,
  Drift,
  OutputChange,
  ReplaceOrder,
  ResourceChange,
} from "./plan/change.ts";
export { hasEffect, isChange } from "./plan/change.ts";
export type {
  DeferredPart,
  Plan,
  PlanMode,
  PlannedExpansion,
  PlannedProvider,
  PlanOptions,
  PlanResult,
  PlanSummary,
  ReadPolicy,
} from "./plan/plan.ts";
export { hasChanges, summarizePlan } from "./plan/plan.ts";
export { decodePlan, encodePlan } from "./plan/plan-codec.ts";
export type { AboutPlan, PlanDocumentWriter } from "./plan/plan-document-writer.ts";
export { PLAN_JSON_FORMAT, planToJson } from "./plan/plan-json.ts";
export type { EncodedOutput } from "./plan/planned-outputs.ts";
export {
  decodePlannedOutputs,
  encodePlannedOutputs,
  plannedOutputs,
} from "./plan/planned-outputs.ts";
export { planToRenderedJson } from "./plan/rendered-plan-json.ts";
export { blockSchemaNode, resourceSchemaNode } from "./plan/schema-json.ts";
export type { SecretDisplay } from "./plan/shown-plan.ts";
export { concealPlan, revealPlan } from "./plan/shown-plan.ts";
export { MAX_STAGES, replacementsLeft, stuckAdvice, stuckBecause } from "./plan/stages.ts";
export type { TerraformJsonOptions } from "./plan/terraform-json.ts";
export { planToTerraformJson } from "./plan/terraform-json.ts";
export type { SetMember, SetPlan } from "./plan-set.ts";
export { PlanSet } from "./plan-set.ts";
export type { PlanEffort, PlanMemoryOptions } from "./planner/plan-memory.ts";
export { PlanMemory } from "./planner/plan-memory.ts";
export { driftedAttributes } from "./planner/relevant-drift.ts";
export { attachedOrigin } from "./providers/attached-origin.ts";
export { builtinOrigin, inProcessOrigin } from "./providers/builtin-origin.ts";
export type {
  OpenedProviders,
  OpenedPulumiProgram,
  OpenProviderOptions,
  ProviderCatalog,
  ProviderOrigin,
  ProviderPrograms,
} from "./providers/catalog.ts";
export { createCatalog } from "./providers/catalog.ts";
export type { CocorpcOriginOptions } from "./providers/cocorpc-origin.ts";
export { cocorpcOrigin } from "./providers/cocorpc-origin.ts";
export { configurationSchemas } from "./providers/configuration-schemas.ts";
export { formerBackends } from "./providers/former-backends.ts";
export { GatheredSchemas } from "./providers/gathered-schemas.ts";
export type { InstalledPlugins, InstallPluginsOptions } from "./providers/install-plugins.ts";
export { installPlugins, withServer } from "./providers/install-plugins.ts";
export type { AnsweredSchema, InstalledOriginOptions } from "./providers/installed-origin.ts";
export { installedOrigin } from "./providers/installed-origin.ts";
export type { JoinedProgram, JoinedProvider, ServedPackage } from "./providers/joined-file.ts";
export { JOINED_PROVIDERS_FILE, parseJoinedProviders } from "./providers/joined-file.ts";
export type { JoinedOriginOptions } from "./providers/joined-origin.ts";
export { joinedOrigin } from "./providers/joined-origin.ts";
export type { LocalProvider } from "./providers/local-provider.ts";
export type { ProgramMux, ProgramMuxOptions } from "./providers/open-program-mux.ts";
export { openProgramMux } from "./providers/open-program-mux.ts";
export type { PluginServer } from "./providers/plugin-servers.ts";
export { parsePluginServers } from "./providers/plugin-servers.ts";
export type { PrivateOriginOptions, ResolvedPrivateVersion } from "./providers/private-origin.ts";
export { privateOrigin, unavailablePrivateOrigin } from "./providers/private-origin.ts";
export { programRequirements } from "./providers/program-requirements.ts";
export { type ProviderCaches, providerCaches } from "./providers/provider-caches.ts";
export { providerCarrier } from "./providers/provider-carrier.ts";
export { ProviderInstancePool } from "./providers/provider-instance-pool.ts";
export type { ProviderLog } from "./providers/provider-log.ts";
export type { PulumiOriginOptions } from "./providers/pulumi-origin.ts";
export { pulumiOrigin } from "./providers/pulumi-origin.ts";
export { remoteStateEncryption } from "./providers/remote-state-encryption.ts";
// Providers.
export { createProvisionerRunner } from "./provisioners/create-runner.ts";
export type { PlannedProvisioner } from "./provisioners/planned-provisioner.ts";
export type { ProvisionerRunner } from "./provisioners/provisioner-runner.ts";
export type { LineMember, LineMembers, RunLine } from "./run-lines/event-line.ts";
export { eventLine, logLine, resourceMembers } from "./run-lines/event-line.ts";
export { blankSecrets, Concealer, revealSecrets } from "./secrets/concealer.ts";
export type { KeyEncryptionKey, KeySource } from "./secrets/key-encryption.ts";
export { keyEncryptionKey, loadKey } from "./secrets/key-encryption.ts";
export { ensureKeyFile, replaceKeyFile } from "./secrets/key-file.ts";
export type { Redactor } from "./secrets/redactor.ts";
export { createRedactor } from "./secrets/redactor.ts";
// State.
export { openStream, sealStream } from "./secrets/sealed-stream.ts";
export type { DataKey, StackCipher } from "./secrets/stack-cipher.ts";
export type { ApplyStatus } from "./state/apply-status.ts";
export { STATE_BLOB_KINDS } from "./state/blob-references.ts";
export { FREEZE_KIND, readFreeze } from "./state/freeze.ts";
export type { HumanLock } from "./state/human-lock.ts";
export { HUMAN_LOCK_KIND, readHumanLock } from "./state/human-lock.ts";
export { impliedValue } from "./state/implied-value.ts";
export { isStateKept, KEPT_STATE_KIND } from "./state/kept-state.ts";
export type { KeyOwner, RewrappedKeys } from "./state/key-owners.ts";
export { countWrapped, listKeyOwners, rewrapAllKeys } from "./state/key-owners.ts";
export { ENGINE_KINDS } from "./state/kind-table.ts";
export { stackTenancy } from "./state/kinds.ts";
export { outputValue } from "./state/output-value.ts";
export type { PlanDocuments } from "./state/plan-documents.ts";
export type { ExpirePlansOptions, PlanRetention } from "./state/plan-retention.ts";
export { DEFAULT_PLAN_RETENTION, expirePlans, expireStackPlans } from "./state/plan-retention.ts";
export { recordedAddresses } from "./state/recorded-addresses.ts";
export { recordedValue } from "./state/recorded-value.ts";
export { removeNamed, removeStackKinds, removeStackState } from "./state/remove-stack-state.ts";
export type {
  NewRun,
  NextRunPhase,
  Run,
  RunPatch,
  RunPhase,
  Runs,
} from "./state/runs.ts";
export {
  createRuns,
  isEnded,
  isRunTransition,
  RUN_TRANSITIONS,
  STORED_RUN_PHASES,
  storedRunPhase,
  transitionRuns,
} from "./state/runs.ts";
export type { SeenState, StackPlace } from "./state/seen-state.ts";
export { hasState, NOTHING_WRITTEN, seeState, untilOtherState } from "./state/seen-state.ts";
export type { NamedStack, ProjectReference } from "./state/stack-directory.ts";
export { isStackName, StackDirectory } from "./state/stack-directory.ts";
export type {
  AdopterFinder,
  FormerState,
  PlannedStack,
  PlannedStackFinder,
  PublishedStack,
  PublishingStack,
  StackFinder,
  StackInputsOptions,
  StackName,
} from "./state/stack-inputs.ts";
export { checkInputs, StackInputs } from "./state/stack-inputs.ts";
export type { CipherFactory, StoredKey, StoredKeys } from "./state/stack-keys.ts";
export { createStoredKeys, delegatedKeys } from "./state/stack-keys.ts";
export type { AdoptedState, StackOrigin, StateMirrorRecord } from "./state/stack-origin.ts";
export { exportedSerial, NO_MIRROR } from "./state/stack-origin.ts";
export type {
  RevisionEntry,
  StackInput,
  StackLock,
  StackOutput,
  StackReference,
  StackSnapshot,
  StackState,
} from "./state/stack-state.ts";
export type { StackStates, StackStatesOptions } from "./state/stack-states.ts";
export { createStackStates } from "./state/stack-states.ts";
export { findOutsideTool, STACK_TOOL_KIND } from "./state/stack-tool.ts";
export type { StateEdit, StateEditChange, StateEditPlan } from "./state/state-edit.ts";
export { applyStateEdits, planStateEdits } from "./state/state-edit.ts";
export type { Probe, RecordedValue, StateObject } from "./state/state-object.ts";
export { isPlaceholder } from "./state/state-object.ts";
export { accountSetKeys, keysId, variableSetKeys } from "./state/variable-set-keys.ts";
export { exportLine } from "./state-transfer/export-line.ts";
export type { ExportOptions } from "./state-transfer/export-state.ts";
export { exportState } from "./state-transfer/export-state.ts";
export type { ImportedState } from "./state-transfer/import-state.ts";
export { importState } from "./state-transfer/import-state.ts";
export { importedState } from "./state-transfer/imported-snapshot.ts";
export { readStateFile } from "./state-transfer/read-state-file.ts";
export type { StateStep } from "./state-transfer/state-steps.ts";
export { stateSteps } from "./state-transfer/state-steps.ts";
export type { OpenRestoreTarget } from "./store/open-restore-target.ts";
export { openRestoreTarget } from "./store/open-restore-target.ts";
export type { OpenStore } from "./store/open-store.ts";
export { openStore } from "./store/open-store.ts";
export { readStoreLayout } from "./store/read-store-layout.ts";
export type { StoreAddress } from "./store/store-address.ts";
export { parseStoreAddress, StoreAddressError, storeName } from "./store/store-address.ts";
// Tests of configurations.
export type { LoadedSuite } from "./test-run/load-suite.ts";
export { loadSuite } from "./test-run/load-suite.ts";
export type {
  LeftObjects,
  TestDetail,
  TestEvent,
  TestFileResult,
  TestRunResult,
  TestStatus,
} from "./test-run/test-result.ts";
export type { TestSuiteOptions, TestSummary } from "./test-run/test-suite.ts";
export { runTests } from "./test-run/test-suite.ts";
export type { ValidationResult } from "./validate/validate-configuration.ts";
export type { SkippedProvider } from "./validate/validation-providers.ts";
export { EvaluationState } from "./walk/evaluation-state.ts";
export type { CallLimit } from "./walk/limits.ts";
export { loadStateIntoContext } from "./walk/load-state.ts";
