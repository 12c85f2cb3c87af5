import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const COMMAND = fileURLToPath(new URL("../../bin/stackwright.mjs", import.meta.url));

/** The command as a process of its own, with all that it wrote so far. Disposing ends it. */
export interface SpawnedCommand extends AsyncDisposable {
  readonly pid: number;
  /** What it wrote, on both streams. */
  readonly text: () => string;
  /** The first match in what it writes; rejects when it ends without one. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends a signal and waits for the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  readonly ended: Promise<number | null>;
}

/** Starts `stackwright WORDS` as users do. */
export function spawnCommand(
  words: readonly string[],
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): SpawnedCommand {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [COMMAND, ...words], {
    cwd: options.cwd,
    // A new home has nothing compiled yet, which is most of a start.
    env: { PATH, NODE_COMPILE_CACHE, HOME: options.cwd, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let written = "";
  const collect = (chunk: Buffer): void => {
    written += chunk.toString();
    child.emit("text");
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  const ended = once(child, "close").then(([code]) => code as number | null);
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return ended;
  };
  return {
    pid: child.pid ?? 0,
    text: () => written,
    waitFor: (pattern) =>
      new Promise((found, failed) => {
        const look = (): void => {
          const match = pattern.exec(written);
          if (match === null) return;
          child.off("text", look);
          found(match);
        };
        child.on("text", look);
        child.once("close", (code) => {
          failed(new Error(`stackwright ${words.join(" ")} ended with ${code}: ${written}`));
        });
        look();
      }),
    stop,
    ended,
    [Symbol.asyncDispose]: async () => {
      await stop("SIGKILL");
    },
  };
}

/** Runs `stackwright WORDS` to its end. */
export async function runSpawned(
  words: readonly string[],
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): Promise<{ readonly code: number | null; readonly text: string }> {
  const command = spawnCommand(words, options);
  const code = await command.ended;
  return { code, text: command.text() };
}
