import { spawn } from "node:child_process";

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Past this the process group is killed. @default 60_000 */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** What it writes goes where ours does, and is not kept. */
  readonly isShown?: boolean;
}

/** How a command ended, with all that it wrote. */
export interface RunResult {
  /** -1 where a signal ended it, or it could not be started. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end, in a process group of its own. Never rejects: a program that is not there is code -1. */
export async function tryCommand(
  [program, ...args]: readonly [string, ...string[]],
  { cwd, env = process.env, timeoutMs = 60_000, signal, isShown = false }: RunOptions = {},
): Promise<RunResult> {
  const stop = AbortSignal.any([
    AbortSignal.timeout(timeoutMs),
    ...(signal === undefined ? [] : [signal]),
  ]);
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      env,
      ...(cwd !== undefined && { cwd }),
      detached: true,
      stdio: ["ignore", isShown ? "inherit" : "pipe", isShown ? "inherit" : "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    const kill = () => {
      stderr += `\n${program} was stopped: ${String(stop.reason)}`;
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch (error) {
        // Gone already, which is what was wanted.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    };
    if (stop.aborted) kill();
    stop.addEventListener("abort", kill, { once: true });
    const settle = (code: number | null) => {
      stop.removeEventListener("abort", kill);
      resolve({ code: code ?? -1, stdout, stderr });
    };
    child.once("error", (error) => {
      stderr += error.message;
      settle(-1);
    });
    child.once("close", settle);
  });
}

/** Runs a command that has to succeed; gives its standard output, or throws the end of what it said. */
export async function runCommand(
  command: readonly [string, ...string[]],
  options: RunOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await tryCommand(command, options);
  if (code === 0) return stdout;
  const said = `${stdout}\n${stderr}`.trim().slice(-4000);
  throw new Error(`${command.slice(0, 4).join(" ")} ... ended with code ${code}:\n${said}`);
}
