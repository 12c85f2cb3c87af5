import { spawn } from "node:child_process";

/** How a process ended. */
type ProcessEnd =
  | { readonly kind: "exit"; readonly code: number; readonly output: string }
  | { readonly kind: "stopped"; readonly output: string };

const KEPT_CHARACTERS = 16_384;

/**
 * Runs a command in a process group of its own and collects the end of its output, standard error
 * included. When `signal` fires the whole group is killed and the result is `stopped`. Rejects
 * only when the command cannot be started.
 */
export function runProcess(
  command: string,
  args: readonly string[],
  options: {
    readonly cwd: string;
    readonly env: NodeJS.ProcessEnv;
    readonly signal: AbortSignal;
  },
): Promise<ProcessEnd> {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      resolve({ kind: "stopped", output: "" });
      return;
    }
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-KEPT_CHARACTERS);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    const stop = () => killGroup(child.pid);
    signal.addEventListener("abort", stop, { once: true });
    child.once("error", (error) => {
      signal.removeEventListener("abort", stop);
      reject(error);
    });
    child.once("close", (code) => {
      signal.removeEventListener("abort", stop);
      resolve(
        signal.aborted && code !== 0
          ? { kind: "stopped", output }
          : { kind: "exit", code: code ?? -1, output },
      );
    });
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // Gone already, which is what was wanted.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
