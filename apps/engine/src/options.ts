export { parseServeArguments, SERVE_FLAGS, serveOptionLines } from "./serve-arguments.ts";
export type { ServerOptions } from "./server-options.ts";
