import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** How a command came to its end. */
export interface CommandResult {
  /** `undefined` when a signal or the deadline ended it. */
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
  readonly timedOut: boolean;
  /** Standard output, when it was asked for; else empty. */
  readonly stdout: string;
}

interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Collect standard output instead of showing it. @default false */
  readonly capture?: boolean;
}

/**
 * Runs a command in a process group of its own and waits for its end. Past the deadline the whole
 * group is ended (SIGTERM, five seconds, SIGKILL), so that no server or worker stays behind. SIGINT and SIGTERM of this process go to
 * the group first, and end this process once that is gone.
 */
export async function runCommand(
  command: readonly [string, ...string[]],
  options: CommandOptions,
): Promise<CommandResult> {
  const [file, ...args] = command;
  const child = spawn(file, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", options.capture === true ? "pipe" : "inherit", "inherit"],
    detached: true,
  });
  let stdout = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));

  // The groups of our commands would outlive an interrupted run otherwise.
  let interruption: NodeJS.Signals | undefined;
  const forward = (signal: NodeJS.Signals): void => {
    interruption = signal;
    signalGroup(child, signal);
  };
  process.on("SIGINT", forward).on("SIGTERM", forward);
  let timedOut = false;
  let kill: NodeJS.Timeout | undefined;
  const deadline = setTimeout(() => {
    timedOut = true;
    signalGroup(child, "SIGTERM");
    kill = setTimeout(() => signalGroup(child, "SIGKILL"), 5000);
  }, options.timeoutMs);
  try {
    const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    return { code: code ?? undefined, signal: signal ?? undefined, timedOut, stdout };
  } finally {
    clearTimeout(deadline);
    clearTimeout(kill);
    process.off("SIGINT", forward).off("SIGTERM", forward);
    // Now that nothing is left behind, this process ends as it was asked to.
    if (interruption !== undefined) process.kill(process.pid, interruption);
  }
}

/** One sentence on how a command ended, for a failed check. */
export function describeEnd(result: CommandResult): string {
  if (result.timedOut) return "did not end within its deadline and was stopped";
  if (result.signal !== undefined) return `was ended by ${result.signal}`;
  return `ended with code ${result.code}`;
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
