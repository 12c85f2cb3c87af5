import { spawn } from "node:child_process";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import type { Redactor } from "@stackwright/core";
import { passLines } from "./tool-process.ts";

/** How the command of a hook is started. */
interface HookCall {
  /** The program and its arguments. */
  readonly words: readonly string[];
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** What nothing of its output may show. */
  readonly secrets: Redactor;
  readonly timeoutMs: number;
  /** Asks it to stop; it is ended some time later. */
  readonly stop: AbortSignal;
  /** Ends it. */
  readonly force: AbortSignal;
  /** A line of its output, without secrets; the command waits until it resolves. */
  readonly onLine: (text: string) => Promise<void> | undefined;
}

/** How the command of a hook ended. */
export type HookEnd =
  | { readonly how: "exit"; readonly code: number }
  | { readonly how: "signal"; readonly signal: string }
  | { readonly how: "timeout" }
  /** It could not be started. */
  | { readonly how: "missing"; readonly code: string };

/** What a command that is asked to stop has until it is ended. */
const GRACE_MS = 10_000;

/**
 * Ends the group with the executor, however that ends: the pipe closes, and the shell behind it kills its group. Only the command gets
 * what the executor gave, and not this pipe.
 */
const GUARD = '(read _ <&3; kill -9 0) >/dev/null 2>&1 & exec 3<&-; exec "$@"';
/** What a shell says of a program that it cannot execute, or does not find. */
const NOT_STARTED: Readonly<Record<number, string>> = { 126: "EACCES", 127: "ENOENT" };

/**
 * Executes a command in a process group of its own, and resolves when it has ended. The group ends with it: what it left in the background is
 * ended, too.
 */
export async function runHookProcess(call: HookCall): Promise<HookEnd> {
  const { words, stop, force, timeoutMs } = call;
  force.throwIfAborted();
  const child = spawn("/bin/sh", ["-c", GUARD, "hook", ...words], {
    cwd: call.directory,
    env: { ...call.env },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    detached: true,
  });
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new TypeError("a hook has pipes");
  const kill = (signal: NodeJS.Signals): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch {
      // Nothing of the group is left.
    }
  };
  const end = (): void => kill("SIGKILL");
  const over = new AbortController();
  const { signal: ended } = over;
  const endLater = async (): Promise<void> => {
    kill("SIGTERM");
    await pause(GRACE_MS, undefined, { signal: ended }).then(end, () => undefined);
  };
  const stopped = (): void => void endLater();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stopped();
  }, timeoutMs);
  stop.addEventListener("abort", stopped, { once: true });
  force.addEventListener("abort", end, { once: true });
  if (stop.aborted) stopped();
  try {
    const exited = new Promise<HookEnd>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => {
        // What is left in the background would keep the output open.
        end();
        resolve(
          code === null ? { how: "signal", signal: signal ?? "SIGKILL" } : { how: "exit", code },
        );
      });
    });
    const [how] = await Promise.all([
      exited,
      passLines(stdout, call.secrets, async (text) => call.onLine(text)),
      passLines(stderr, call.secrets, async (text) => call.onLine(text)),
    ]);
    if (isLate) return { how: "timeout" };
    return how;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EACCES") throw error;
    return { how: "missing", code };
  } finally {
    over.abort();
    clearTimeout(timer);
    stop.removeEventListener("abort", stopped);
    force.removeEventListener("abort", end);
    end();
  }
}

/** Why a command failed, in words; undefined where it did not. */
export function hookProblem(end: HookEnd, timeoutMs: number): string | undefined {
  switch (end.how) {
    case "exit": {
      if (end.code === 0) return undefined;
      const cause = NOT_STARTED[end.code];
      const hint = cause === undefined ? "" : ": a command cannot be executed, or is not there";
      return `ended with code ${end.code}${hint}`;
    }
    case "signal":
      return `was ended by ${end.signal}`;
    case "timeout":
      return `took longer than ${timeoutMs / 1_000} seconds`;
    case "missing":
      return `cannot be started (${end.code})`;
    default:
      return end satisfies never;
  }
}
