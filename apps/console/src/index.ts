export type { ConsoleFile } from "./console-files.ts";
export { readConsole } from "./console-files.ts";
