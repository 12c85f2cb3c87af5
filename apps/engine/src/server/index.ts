export type { FirstCredentials } from "./bootstrap.ts";
export { bootstrap, runBootstrap } from "./bootstrap-command.ts";
export type { OpenServerParts, RunningServer, ServeParts } from "./serve.ts";
export { serve } from "./serve.ts";
export { parseServeArguments, SERVE_FLAGS } from "./serve-arguments.ts";
export type { ServerAppOptions, ServerFace } from "./server-app.ts";
export { createServerApp } from "./server-app.ts";
export type { ResolvedServerOptions, ServerOptions } from "./server-options.ts";
export { resolveServerOptions, ServerOptionsSchema } from "./server-options.ts";
