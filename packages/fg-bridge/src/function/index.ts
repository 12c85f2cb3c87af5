export type { FunctionAuthenticator } from "./authenticate.ts";
export { authenticateBearer, authenticateSignature } from "./authenticate.ts";
export type { DirectoryJournalOptions } from "./directory-journal.ts";
export { openDirectoryJournal } from "./directory-journal.ts";
export type { HandleOptions, HandleReply } from "./function-handler.ts";
export { FunctionHandler } from "./function-handler.ts";
export type { FunctionOptions } from "./function-options.ts";
export type { FunctionServer, FunctionServerOptions } from "./function-server.ts";
export { serveFunction } from "./function-server.ts";
export type { LifecycleRunnerOptions } from "./lifecycle-runner.ts";
export { createLifecycleRunner } from "./lifecycle-runner.ts";
export { createMemoryJournal } from "./memory-journal.ts";
export type {
  AttemptAdmission,
  OperationJournal,
  OperationKey,
  OperationState,
  RequestDelivery,
  StoredResult,
} from "./operation-journal.ts";
export type { ProcessRunnerOptions } from "./process-runner.ts";
export { createProcessRunner } from "./process-runner.ts";
export type { ProviderRunner, RunningProvider, StartOptions } from "./provider-runner.ts";
export type { PulumiRunnerOptions } from "./pulumi-runner.ts";
export { createPulumiRunner } from "./pulumi-runner.ts";
export type { ResultStore, ServedResults } from "./result-store.ts";
export { createServedResults } from "./result-store.ts";
export type { PoolOptions } from "./session-pool.ts";
