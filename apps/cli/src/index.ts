export type { CommandProcess } from "./command-context.ts";
export { runCommand } from "./program/run-command.ts";
export type { TerminalStreams } from "./terminal/terminal.ts";
