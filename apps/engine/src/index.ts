export { STORE_BLOB_KINDS } from "./blob-collection.ts";
export type { BootstrapCredentials } from "./bootstrap.ts";
export { bootstrap, runBootstrap } from "./bootstrap-command.ts";
export { serveHelp } from "./console/serve-help.ts";
export { runStoreDoctor } from "./doctor-command.ts";
export { runExecuteCommand } from "./execute-command.ts";
export { examineRecords } from "./operate/examine-records.ts";
export { KeptFreezes } from "./operate/kept-freezes.ts";
export { findLiveProcesses } from "./operate/live-processes.ts";
export { RestoredStore, thawRestored } from "./operate/restored-store.ts";
export {
  enforceRetention,
  retentionRows,
  runRetentionEnforce,
  runRetentionShow,
} from "./retention-command.ts";
export { runWorkerCommand } from "./run-worker-command.ts";
export type { OpenServerParts, RunningServer, ServeParts } from "./serve.ts";
export { serve } from "./serve.ts";
export { parseServeArguments } from "./serve-arguments.ts";
export { SERVE_OPTIONS } from "./serve-flags.ts";
export type { ServerAppOptions, ServerPlugin } from "./server-app.ts";
export { createServerApp } from "./server-app.ts";
export type { ServerKeyRotation } from "./server-key-command.ts";
export {
  listServerKeys,
  rotateServerKey,
  runServerKeyList,
  runServerKeyRotate,
} from "./server-key-command.ts";
export type { ResolvedServerOptions, ServerOptions } from "./server-options.ts";
export { resolveServerOptions, ServerOptionsSchema } from "./server-options.ts";
export { startStorageEndpoint } from "./storage-endpoint.ts";
