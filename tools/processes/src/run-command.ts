import { type ChildProcess, spawn } from "node:child_process";

export interface CommandOptions {
  readonly cwd?: string;
  /** The whole environment. @default that of this process */
  readonly env?: NodeJS.ProcessEnv;
  /** Past this the command is stopped. @default 60_000 */
  readonly timeoutMs?: number;
  /** Stops the command when it fires. */
  readonly signal?: AbortSignal;
  /** Which output goes where that of this process goes, and is not collected. @default "none" */
  readonly show?: "none" | "stderr" | "all";
  /**
   * Whether SIGINT and SIGTERM of this process go to the command first, and end this process once the command has ended.
   * For callers without a handler of these signals. @default false
   */
  readonly forwardsInterrupt?: boolean;
}

/** How a command ended, and what it wrote. */
export interface CommandResult {
  /** Undefined where a signal ended it, or it could not be started. */
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
  /** Whether its time was over, so that it was stopped. */
  readonly timedOut: boolean;
  readonly stdout: string;
  /** With the reason, where it could not be started or was stopped. */
  readonly stderr: string;
}

/** How long a command may take to stop by itself. */
const STOP_MS = 5000;

/**
 * Runs a command to its end, in a process group of its own. A command that is stopped gets SIGTERM, and SIGKILL five seconds
 * later, with all processes of its group. Never rejects: a program that cannot be started is a result without a code.
 */
export async function runCommand(
  [program, ...args]: readonly [string, ...string[]],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const { cwd, env = process.env, timeoutMs = 60_000, show = "none" } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  const stop = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
  const child = spawn(program, args, {
    ...(cwd !== undefined && { cwd }),
    env,
    detached: true,
    stdio: ["ignore", show === "all" ? "inherit" : "pipe", show === "none" ? "pipe" : "inherit"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));

  let kill: NodeJS.Timeout | undefined;
  const halt = () => {
    stderr += `\n${program} was stopped: ${String(stop.reason)}`;
    signalGroup(child, "SIGTERM");
    kill = setTimeout(() => signalGroup(child, "SIGKILL"), STOP_MS);
  };
  if (stop.aborted) halt();
  else stop.addEventListener("abort", halt, { once: true });

  // The group of the command would outlive an interrupted process otherwise.
  let interruption: NodeJS.Signals | undefined;
  const forward = (signal: NodeJS.Signals): void => {
    interruption = signal;
    signalGroup(child, signal);
  };
  if (options.forwardsInterrupt === true) process.on("SIGINT", forward).on("SIGTERM", forward);
  try {
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
      child.once("error", (error) => {
        stderr += error.message;
        resolve([null, null]);
      });
      child.once("close", (...end) => resolve(end));
    });
    const timedOut = timeout.aborted && stop.reason === timeout.reason;
    return { code: code ?? undefined, signal: signal ?? undefined, timedOut, stdout, stderr };
  } finally {
    stop.removeEventListener("abort", halt);
    clearTimeout(kill);
    process.off("SIGINT", forward).off("SIGTERM", forward);
    // Now that nothing is left behind, this process ends as it was asked to.
    if (interruption !== undefined) process.kill(process.pid, interruption);
  }
}

/** Runs a command that has to succeed: returns its standard output, or throws the end of what it wrote. */
export async function requireCommand(
  command: readonly [string, ...string[]],
  options: CommandOptions = {},
): Promise<string> {
  const result = await runCommand(command, options);
  if (result.code === 0) return result.stdout;
  const output = `${result.stdout}\n${result.stderr}`.trim().slice(-4000);
  throw new Error(`${command.slice(0, 4).join(" ")} ... ${describeEnd(result)}:\n${output}`);
}

/** How a command ended, as the predicate of a sentence about it. */
export function describeEnd({ code, signal, timedOut }: CommandResult): string {
  if (timedOut) return "did not end within its deadline and was stopped";
  if (signal !== undefined) return `was ended by ${signal}`;
  return code === undefined ? "could not be started" : `ended with code ${code}`;
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // Gone already, which is what was wanted.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
