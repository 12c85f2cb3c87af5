import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import { type Clock, systemClock } from "@stackwright/base/clock";
import { MuxError } from "../errors.ts";

/**
 * The supervisor: a POSIX shell that leads a process group, runs the program in it, and never outlives its pipe.
 *
 * Standard input is a pipe whose other end only we hold, so that it ends when we close it or die in any way. A
 * second shell reads it, and at its end kills the whole group, itself included. The leader waits for the program and
 * writes to descriptor 3 `pid <n>` when it starts and `exit <status>` when it has ended; then it reaps the
 * reader, and kills what the program left behind in the group.
 *
 * Why so: the leader or the reader is a member for as long as the group has to be ended, so the number of the group
 * cannot have become another's; and the program runs in the foreground of its shell, since shells start what is in the
 * background with SIGINT ignored. A trap with a command, other than an empty one, is not inherited. The pipe moves to
 * descriptor 4 first, as shells also give what is in the background an empty standard input.
 */
const SUPERVISOR = `
trap : HUP INT TERM QUIT
exec 4<&0 </dev/null
(trap '' HUP INT TERM QUIT; while read -r _; do :; done; kill -s KILL -- "-$$") <&4 >/dev/null 2>&1 3>&- &
reader=$!
exec 4<&-
sh -c 'echo "pid $$" >&3; exec "$@" 3>&-' sh "$@"
echo "exit $?" >&3
{ kill -s KILL "$reader"; wait "$reader"; } 2>/dev/null
kill -s KILL -- "-$$"
`;

/** How long the output of an ended process may still arrive. */
const LATE_OUTPUT_MS = 250;

export interface SupervisedCommand {
  /** Path of the program. */
  readonly path: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. Names that a shell does not take as variables, such as `a.b`, are left out. */
  readonly env: NodeJS.ProcessEnv;
  readonly onStdout: (chunk: Buffer) => void;
  readonly onStderr: (chunk: Buffer) => void;
  readonly clock?: Clock;
}

/** How a process ended: by itself with a code, or by a signal. */
export interface ProcessExit {
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
}

/** "code 3" or "SIGKILL". */
export function describeExit({ code, signal }: ProcessExit): string {
  return signal ?? `code ${code ?? "unknown"}`;
}

/**
 * A program in a process group of its own that does not survive us, not even when we are killed. A process that
 * leaves the group on purpose (a daemon) is out of reach.
 */
export class SupervisedProcess implements AsyncDisposable {
  /** Number of the group, which is the pid of its supervisor. */
  readonly group: number;
  /** Settles when the process has ended and its output was handed on; never rejects. */
  readonly exited: Promise<ProcessExit>;
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  #pid: number | undefined;
  #exit: ProcessExit | undefined;

  private constructor(child: ChildProcess, group: number, command: SupervisedCommand) {
    this.#child = child;
    this.group = group;
    this.#clock = command.clock ?? systemClock;
    this.exited = this.#watch(command);
  }

  /** Resolves when the supervisor runs. */
  static async start(command: SupervisedCommand): Promise<SupervisedProcess> {
    const child = spawn("/bin/sh", ["-c", SUPERVISOR, "sh", command.path, ...command.args], {
      cwd: command.cwd,
      env: command.env,
      detached: true,
      stdio: ["pipe", "pipe", "pipe", "pipe"],
    });
    const group = await new Promise<number>((resolve, reject) => {
      child.once("error", (cause) => {
        const text = `cannot start ${command.path} in ${command.cwd}: ${cause.message}`;
        reject(new MuxError("MUX_PROCESS_NOT_FOUND", text, { cause }));
      });
      child.once("spawn", () => resolve(child.pid ?? 0));
    });
    return new SupervisedProcess(child, group, command);
  }

  /** The program's own pid, once it runs. */
  get pid(): number | undefined {
    return this.#pid;
  }

  /** Present once the process has ended. */
  get exit(): ProcessExit | undefined {
    return this.#exit;
  }

  /** Sends a signal to the whole group; does nothing when it has ended. */
  signal(name: NodeJS.Signals): void {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    try {
      process.kill(-this.group, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }

  /** Kills the group at once. */
  async kill(): Promise<ProcessExit> {
    this.signal("SIGKILL");
    return this.exited;
  }

  /** Asks with SIGINT, halfway through the grace with SIGTERM, and then kills the group. */
  async end(graceMs: number): Promise<ProcessExit> {
    if (this.#exit !== undefined) return this.#exit;
    // A process that is stopped would not see the request.
    this.signal("SIGCONT");
    this.signal("SIGINT");
    const insist = this.#clock.after(graceMs / 2, () => this.signal("SIGTERM"));
    const kill = this.#clock.after(graceMs, () => this.signal("SIGKILL"));
    try {
      return await this.exited;
    } finally {
      insist[Symbol.dispose]();
      kill[Symbol.dispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #watch({ onStdout, onStderr }: SupervisedCommand): Promise<ProcessExit> {
    const child = this.#child;
    const [stdin, stdout, stderr, report] = child.stdio;
    // A supervisor that has ended closes its end first.
    stdin?.on("error", () => undefined);
    stdout?.on("data", onStdout);
    stderr?.on("data", onStderr);
    let text = "";
    (report as Readable).on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      this.#pid ??= numberAfter("pid", text);
    });
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const signalled = await new Promise<NodeJS.Signals | null>((resolve) => {
      child.once("exit", (_code, signal) => resolve(signal));
    });
    // What left the group on purpose may hold the pipes open for ever.
    const late = setTimeout(() => {
      for (const stream of child.stdio) stream?.destroy();
    }, LATE_OUTPUT_MS);
    await closed;
    clearTimeout(late);
    const status = numberAfter("exit", text);
    this.#exit = status === undefined ? unreported(signalled) : fromStatus(status);
    return this.#exit;
  }
}

function numberAfter(word: string, text: string): number | undefined {
  const found = new RegExp(`^${word} (\\d+)$`, "m").exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

function unreported(signal: NodeJS.Signals | null): ProcessExit {
  return { code: undefined, signal: signal ?? undefined };
}

/** A shell reports the end by signal `n` as 128 + n. */
function fromStatus(status: number): ProcessExit {
  const name = Object.entries(constants.signals).find(([, number]) => number === status - 128)?.[0];
  return status > 128 && name !== undefined
    ? { code: undefined, signal: name as NodeJS.Signals }
    : { code: status, signal: undefined };
}
