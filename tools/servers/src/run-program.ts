import { execFile } from "node:child_process";
import type { Account } from "./account.ts";

const TIMEOUT_MS = 120_000;

/** Runs a program to its end, as an account if one is given, without the variables of the user who runs the tests. */
export function runProgram(
  command: string,
  args: readonly string[],
  options: {
    readonly cwd: string;
    readonly account: Account | undefined;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<{ readonly code: number | string; readonly output: string }> {
  const { account, cwd, signal } = options;
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      {
        cwd,
        env: { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" },
        timeout: TIMEOUT_MS,
        ...(account ? { uid: account.uid, gid: account.gid } : {}),
        ...(signal ? { signal } : {}),
      },
      (error, stdout, stderr) => {
        const output = stdout + stderr + (error && !stderr ? `${error.message}\n` : "");
        resolve({ code: error ? (error.code ?? "killed") : 0, output });
      },
    );
  });
}
