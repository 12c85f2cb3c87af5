import { type ChildProcess, spawn } from "node:child_process";
import { extname } from "node:path";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { CONTROL_FD, EVENTS_FD } from "./child-protocol.ts";
import type { ExecutionJob } from "./execution-job.ts";
import { ExecutionPipes } from "./execution-pipes.ts";
import type { Execution, ExecutionEnd, ExecutionHost, Executor, LossReason } from "./executor.ts";
import { heapArgument, INHERITED, INHERITED_PATHS, logProcess } from "./executor-process.ts";
import { watchGroupMemory } from "./group-memory.ts";

interface ChildExecutorOptions {
  readonly logger?: Logger | undefined;
  readonly clock?: Clock;
  /** The worker's environment, of which a child gets what names programs, the network and its authorities. */
  readonly env?: NodeJS.ProcessEnv;
  /** Where children keep what the compiler made of their code, so that the next one starts faster. @default nowhere */
  readonly compileCache?: string | undefined;
  /** How long a child has to answer. @default 30,000 */
  readonly startDeadlineMs?: number;
  /** Bytes of memory that the processes of an execution have together. @default no bound */
  readonly maxMemoryBytes?: number | undefined;
}

/**
 * Executes each step in a process of its own: with an empty environment but for what reaches the network, in its own process
 * group, which is ended as a whole. Secrets pass through the control pipe alone.
 */
export function createChildExecutor(options: ChildExecutorOptions = {}): Executor {
  const running = new Set<ChildExecution>();
  return {
    kind: "child",
    isRemote: true,
    start: (job, host) => {
      const execution = new ChildExecution(job, host, options);
      running.add(execution);
      void execution.ended.then(() => running.delete(execution));
      return execution;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(Array.from(running, async (one) => one[Symbol.asyncDispose]()));
    },
  };
}

class ChildExecution implements Execution {
  readonly ended: Promise<ExecutionEnd>;
  readonly #child: ChildProcess;
  readonly #pipes: ExecutionPipes;
  readonly #isBounded: boolean;
  #lost: LossReason | undefined;

  constructor(job: ExecutionJob, host: ExecutionHost, options: ChildExecutorOptions) {
    const { env = process.env, clock = systemClock, logger, maxMemoryBytes } = options;
    this.#isBounded = maxMemoryBytes !== undefined;
    const entry = fileURLToPath(
      new URL(`./child-main${extname(import.meta.url)}`, import.meta.url),
    );
    const inherited = Object.entries(env).filter(
      ([name]) => name === "PATH" || INHERITED.test(name) || INHERITED_PATHS.test(name),
    );
    const bounds = maxMemoryBytes === undefined ? [] : [heapArgument(maxMemoryBytes)];
    this.#child = spawn(process.execPath, [...bounds, entry], {
      cwd: job.folder,
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
      env: {
        ...Object.fromEntries(inherited),
        LANG: "C.UTF-8",
        HOME: job.folder,
        TMPDIR: job.folder,
        ...(options.compileCache !== undefined && { NODE_COMPILE_CACHE: options.compileCache }),
      },
    });
    logProcess(this.#child, [this.#child.stdout, this.#child.stderr], job, logger);
    const starting = clock.after(options.startDeadlineMs ?? 30_000, () => {
      this.#end("start_deadline");
    });
    const over = new AbortController();
    const { pid } = this.#child;
    if (pid !== undefined && maxMemoryBytes !== undefined) {
      const bound = { group: pid, maxBytes: maxMemoryBytes };
      void watchGroupMemory(bound, clock, over.signal, () => this.#end("memory"));
    }
    this.#pipes = new ExecutionPipes({
      job,
      host,
      control: this.#child.stdio[CONTROL_FD] as Writable,
      events: this.#child.stdio[EVENTS_FD] as Readable,
      logger,
      onHello: () => starting[Symbol.dispose](),
      onFailure: (reason) => this.#end(reason === "too_large" ? reason : undefined),
    });
    this.ended = new Promise<ExecutionEnd>((resolve) => {
      const finish = (code: number | null, signal: string | null): void => {
        starting[Symbol.dispose]();
        over.abort();
        // Providers live in the group.
        this.#kill();
        void this.#pipes.ended.then(() => resolve(this.#endOf(code, signal)));
      };
      this.#child.once("exit", finish);
      this.#child.once("error", () => finish(1, null));
    });
  }

  stop(stage: 1 | 2): void {
    this.#pipes.cancel(stage);
    if (stage === 2) this.#kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill();
    await this.ended;
  }

  #end(reason: LossReason | undefined): void {
    this.#lost ??= reason;
    this.#kill();
  }

  #kill(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // Nothing of the group is left.
    }
  }

  #endOf(code: number | null, signal: string | null): ExecutionEnd {
    const { result } = this.#pipes;
    if (result !== undefined) return { how: "result", result };
    if (this.#lost !== undefined) return { how: "lost", reason: this.#lost };
    // V8 aborts where its heap is full.
    if (this.#isBounded && signal === "SIGABRT") return { how: "lost", reason: "memory" };
    return signal === null ? { how: "exit", code: code ?? 1 } : { how: "signal", signal };
  }
}
