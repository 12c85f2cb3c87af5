import { execFile } from "node:child_process";
import { CommandError } from "../command-error.ts";

const MAX_BYTES = 256 * 1024 * 1024;

/** Runs an installed command to its end and returns what it wrote. `CommandError` with its message where it fails. */
export async function runProgram(
  command: string,
  words: readonly string[],
  options: {
    readonly directory: string;
    readonly env: NodeJS.ProcessEnv;
    readonly signal: AbortSignal;
  },
): Promise<string> {
  const { directory: cwd, env, signal } = options;
  return new Promise((resolve, reject) => {
    execFile(command, [...words], { cwd, env, signal, maxBuffer: MAX_BYTES }, (error, out, err) => {
      if (error === null) return resolve(out);
      if (signal.aborted) return reject(signal.reason);
      const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
      const detail = missing ? "the program was not found" : err.trim().slice(0, 4_000);
      reject(
        new CommandError(`"${command} ${words[0]}" failed.`, { cause: error, advice: detail }),
      );
    });
  });
}
