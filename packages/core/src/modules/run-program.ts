import { execFile } from "node:child_process";
import { ModuleError } from "@stackwright/lang";

/** How a program of this machine is run. */
interface ProgramOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal | undefined;
  /** After this time it is ended. */
  readonly timeoutMs: number;
}

/** What a program wrote last when it failed. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
}

/** Runs a program to its end and returns what it wrote. No shell is involved. Rejects with a `ProgramError`. */
export async function runProgram(
  program: string,
  words: readonly string[],
  { cwd, env, signal, timeoutMs }: ProgramOptions,
): Promise<string> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const options = {
    cwd,
    env,
    timeout: timeoutMs,
    killSignal: "SIGKILL",
    maxBuffer: 16 * 1024 * 1024,
    ...(signal && { signal }),
  } as const;
  const child = execFile(program, words, options, (error, stdout, stderr) => {
    if (error === null) resolve(stdout);
    else if (signal?.aborted === true) reject(signal.reason as Error);
    else if (error.code === "ENOENT") {
      const detail = `The program "${program}" is not installed, or not on the path. Install it.`;
      reject(new ModuleError("Failed to download module", detail));
    } else if (error.killed === true) {
      reject(new ProgramError(`${program} did not end within ${timeoutMs} ms`));
    } else reject(new ProgramError(lastWords(stderr) ?? error.message));
  });
  child.stdin?.end();
  return promise;
}

/** The lines of an error output that say something, in one line. */
function lastWords(text: string): string | undefined {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return lines.length === 0 ? undefined : lines.slice(-4).join("; ").slice(0, 1000);
}
