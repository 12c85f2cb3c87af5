import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { onTestFinished } from "vitest";

/** A server in a process of its own, which the end of the test kills. */
export interface ServerProcess {
  readonly url: string;
  readonly child: ChildProcessByStdio<null, Readable, null>;
  /** Resolves with the exit code; null after a signal. */
  readonly ended: Promise<number | null>;
}

/**
 * Starts `main serve`, without `--port` on any, and waits until it says where it listens. Rejects where it ends before.
 */
export async function startServerProcess(
  main: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<ServerProcess> {
  const port = args.includes("--port") ? [] : ["--port", "0"];
  const child = spawn(process.execPath, [main, "serve", ...args, ...port], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const url = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += String(chunk);
      const found = /"url":"([^"]+)"/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${text}`)));
  });
  return { url, child, ended };
}
