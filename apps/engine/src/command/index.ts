export type { CommandProcess } from "./command-context.ts";
export { runCommand } from "./run-command.ts";
export type { TerminalStreams } from "./terminal.ts";
