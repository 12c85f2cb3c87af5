export { nearOption } from "./near-option.ts";
export { parseServeArguments, serveOptionLines, serveVariableWarnings } from "./serve-arguments.ts";
export { SERVE_OPTIONS } from "./serve-flags.ts";
export type { ServerOptions } from "./server-options.ts";
export { workerOptionLines } from "./worker-arguments.ts";
