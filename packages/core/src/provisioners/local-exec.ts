import { spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type Clock, sleep } from "@stackwright/base/clock";
import type { Value } from "@stackwright/cty";
import { OutputTail } from "./line-splitter.ts";
import { PacedLines } from "./paced-lines.ts";
import { memberOf, type ProvisionerContext, textOf, textsOf } from "./provisioner-runner.ts";

/** Where local commands run. */
interface LocalCommandOptions {
  /** The folder that relative working folders are relative to. */
  readonly directory: string;
  /** Variables that each command sees; those of its provisioner are added. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** Time between the request to end and the forced end. */
const GRACE_MS = 5_000;
/** How long output is still read after the command has ended: its own children may hold the pipe. */
const DRAIN_MS = 500;
const TAIL_BYTES = 8 * 1024;

/** Runs the command of a `local-exec` provisioner. Both of its output streams become lines in one order. */
export async function runLocalCommand(
  config: Value,
  { directory, environment, clock }: LocalCommandOptions,
  { signal, onOutput, room }: ProvisionerContext,
): Promise<void> {
  const command = textOf(config, "command") ?? "";
  if (command === "") throw new Error("the argument command must not be empty");
  const [program, ...args] = [...interpreterOf(config), command];
  if (program === undefined) throw new Error("the argument interpreter must not be empty");
  const quiet = memberOf(config, "quiet")?.asBoolean() === true;
  const shown = JSON.stringify([program, ...args]).replaceAll('","', '" "');
  onOutput(quiet ? "Executing: Suppressed by quiet=true" : `Executing: ${shown}`);
  signal.throwIfAborted();
  const tail = new OutputTail(TAIL_BYTES);
  const lines = new PacedLines((line) => {
    tail.add(line);
    onOutput(line);
  }, room);
  const cwd = resolve(directory, textOf(config, "working_dir") ?? ".");
  const found = await stat(cwd).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new Error(`the working_dir "${cwd}" is not a folder`);
  const [first, ...rest] = oneStream([program, ...args]);
  const child = spawn(first, rest, {
    cwd,
    env: { ...environment, ...environmentOf(config) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  lines.read(child.stdout);
  lines.read(child.stderr);
  const forced: Disposable[] = [];
  const onAbort = (): void => {
    child.kill("SIGTERM");
    forced.push(clock.after(GRACE_MS, () => child.kill("SIGKILL")));
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const closed = new Promise<void>((done) => child.once("close", () => done()));
    const ended = await new Promise<string | undefined>((done) => {
      child.once("error", (error) => done(error.message));
      child.once("exit", (code, by) => {
        if (by === null) done(code === 0 ? undefined : `exit status ${code}`);
        else done(`signal: ${by}`);
      });
    });
    if (child.pid !== undefined) await Promise.race([closed, drained(lines, clock, signal)]);
    lines.end();
    signal.throwIfAborted();
    if (ended === undefined) return;
    throw new Error(`Error running command '${command}': ${ended}. Output: ${tail.text}`);
  } finally {
    signal.removeEventListener("abort", onAbort);
    for (const timer of forced) timer[Symbol.dispose]();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** Resolves when the output was read for so long; what is held back meanwhile is still read. */
async function drained(lines: PacedLines, clock: Clock, signal: AbortSignal): Promise<void> {
  do {
    await sleep(clock, DRAIN_MS);
  } while (lines.held !== undefined && !signal.aborted);
}

/** The command with its error output in the pipe of its output, so that the order of the lines is kept. */
function oneStream(words: readonly [string, ...string[]]): readonly [string, ...string[]] {
  if (process.platform === "win32") return words;
  return ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", ...words];
}

function interpreterOf(config: Value): readonly string[] {
  const given = textsOf(config, "interpreter");
  if (given !== undefined && given.length > 0) return given;
  return process.platform === "win32" ? ["cmd", "/C"] : ["/bin/sh", "-c"];
}

function environmentOf(config: Value): Record<string, string> {
  const given = memberOf(config, "environment");
  if (given === undefined) return {};
  return Object.fromEntries(
    [...given.entries()].flatMap(([name, value]) =>
      value.isNull ? [] : [[name, value.asString()] as const],
    ),
  );
}
