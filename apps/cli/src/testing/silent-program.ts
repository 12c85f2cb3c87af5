import { PassThrough, Readable } from "node:stream";
import type { Command } from "commander";
import { ALL_COMMANDS } from "../program/all-commands.ts";
import { createProgram, type DefineCommands } from "../program/program.ts";

/** The program as it is defined, without a terminal: what it writes goes nowhere. */
export function silentProgram(definitions: readonly DefineCommands[] = ALL_COMMANDS): Command {
  const never = new AbortController().signal;
  const streams = {
    input: Readable.from([]),
    output: new PassThrough(),
    error: new PassThrough(),
    env: {},
  };
  return createProgram(
    { streams, cwd: "/", signal: never, forceSignal: never },
    () => undefined,
    definitions,
  );
}
