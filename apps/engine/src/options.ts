export { parseServeArguments, SERVE_OPTIONS, serveOptionLines } from "./serve-arguments.ts";
export type { ServerOptions } from "./server-options.ts";
export { workerOptionLines } from "./worker-arguments.ts";
