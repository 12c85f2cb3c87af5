import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { CalledAs } from "./called-as.ts";
import { createTerminal, type Terminal, type TerminalStreams } from "./terminal/terminal.ts";

/** What a command gets of the process it runs in. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
  /** The folder that the command works in, absolute. */
  readonly directory: string;
  /** The folder that the user was in, absolute: `--chdir` does not change it. */
  readonly workingDirectory: string;
  /** Aborted by the first Ctrl-C: begin nothing new, let what runs end. */
  readonly signal: AbortSignal;
  /** Aborted by the second Ctrl-C: wait for nothing. */
  readonly forceSignal: AbortSignal;
  /** The name that the user called the command by. */
  readonly calledAs: CalledAs;
}

/** The options that every command takes. */
export interface CommonOptions {
  readonly chdir?: string;
  /** False for `-no-color`. */
  readonly color?: boolean;
}

/** The process as the entry of the command gives it. */
export interface CommandProcess {
  readonly streams: TerminalStreams;
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly forceSignal: AbortSignal;
  /** The name that the user called the command by. @default "stackwright" */
  readonly calledAs?: CalledAs;
}

export function createContext(process: CommandProcess, options: CommonOptions): CommandContext {
  const { streams, cwd, signal, forceSignal, calledAs = "stackwright" } = process;
  return {
    terminal: createTerminal({ ...streams, noColor: options.color === false }),
    env: streams.env,
    directory: resolve(cwd, options.chdir ?? "."),
    workingDirectory: writtenDirectory(cwd, streams.env),
    signal,
    forceSignal,
    calledAs,
  };
}

/** The folder as the shell writes it, which keeps the names of symbolic links that lead there. */
function writtenDirectory(cwd: string, { PWD }: NodeJS.ProcessEnv): string {
  try {
    if (PWD !== undefined && resolve(PWD) === PWD && realpathSync(PWD) === realpathSync(cwd))
      return PWD;
  } catch {
    // It names a folder that does not exist.
  }
  return cwd;
}
