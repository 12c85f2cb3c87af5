import { type ChildProcessByStdio, spawn } from "node:child_process";
import process from "node:process";
import type { Readable } from "node:stream";
import { onTestFinished } from "vitest";

/** A remote worker in a process of its own, which the end of the test kills. */
export interface WorkerProcess {
  readonly child: ChildProcessByStdio<null, Readable, null>;
  /** Resolves with the exit code; null after a signal. */
  readonly ended: Promise<number | null>;
}

/** Starts `main worker` and waits until it claims steps. Rejects where it ends before. */
export async function startWorkerProcess(
  main: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<WorkerProcess> {
  const child = spawn(process.execPath, [main, "worker", ...args], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  await new Promise<void>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += String(chunk);
      if (text.includes("claims steps")) resolve();
    });
    child.once("exit", (code) => reject(new Error(`the worker ended with ${code}: ${text}`)));
  });
  return { child, ended };
}
