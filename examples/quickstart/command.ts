import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { ownEnvironment, type Platform } from "./platform.ts";

const folder = import.meta.dirname;
const COMMAND = join(folder, "../../apps/cli/bin/stackwright.mjs");

/** Ends everything. A terminal sends Ctrl-C, and that it was closed, to the commands in it as well; other signals reach one process. */
export class StopRequest extends Error {
  readonly reachedCommands: boolean;

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`);
    this.reachedCommands = process.stdin.isTTY && signal !== "SIGTERM";
  }
}

interface CommandOptions {
  readonly stop: AbortController;
  /** What it writes is for us, not for the reader, and it cannot ask. */
  readonly silent?: boolean;
  /** It only looks at what others do, and is not waited for when it is stopped. */
  readonly follows?: boolean;
}

/** How a command ended, and what a silent one wrote. */
interface CommandEnd {
  readonly code: number | null;
  readonly output: string;
  readonly error: string;
}

/**
 * Runs a command in this folder, on the store of the server. A command that asks gets Ctrl-C as a key: where it ends as interrupted,
 * everything is stopped. Rejects with the reason of `stop`.
 */
export async function runCommand(
  { env }: Pick<Platform, "env">,
  words: readonly string[],
  { stop, silent = false, follows = false }: CommandOptions,
): Promise<CommandEnd> {
  stop.signal.throwIfAborted();
  const child = spawn(process.execPath, [COMMAND, ...words], {
    cwd: folder,
    stdio: silent ? ["ignore", "pipe", "pipe"] : "inherit",
    env: { ...ownEnvironment(), ...env },
  });
  let [output, error] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    error += chunk.toString();
  });
  const forward = (): void => {
    const { reason } = stop.signal;
    if (!(reason instanceof StopRequest && reason.reachedCommands)) child.kill("SIGINT");
    // Another kind of signal than the terminal sends, so that it counts as a second one: then it asks nothing.
    if (follows) child.kill("SIGTERM");
  };
  stop.signal.addEventListener("abort", forward, { once: true });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  stop.signal.removeEventListener("abort", forward);
  if (code === 130) stop.abort(new StopRequest("SIGINT"));
  stop.signal.throwIfAborted();
  return { code, output, error };
}
