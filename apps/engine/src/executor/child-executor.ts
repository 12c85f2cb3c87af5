import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { ExecutionJob } from "./execution-job.ts";
import { ExecutionPipes } from "./execution-pipes.ts";
import type { Execution, ExecutionEnd, ExecutionHost, Executor, LossReason } from "./executor.ts";
import { ExecutorChild, type ExecutorChildOptions } from "./executor-child.ts";
import { logProcess } from "./executor-process.ts";
import { watchGroup } from "./group-use.ts";
import { SpareChildren } from "./spare-children.ts";

/** How long a child waits for a step: as long as a person may take to approve a plan at once. */
const SPARE_MS = 15 * 60_000;
/** An apply follows its plan sooner, where it is approved by itself. */
const QUIET_MS = 500;

interface ChildExecutorOptions extends ExecutorChildOptions {
  readonly logger?: Logger | undefined;
  readonly clock?: Clock;
  /** Milliseconds of processor time that the processes of an execution use together. @default no bound */
  readonly maxProcessorMs?: number | undefined;
  /** How long a child has to answer. @default 30,000 */
  readonly startDeadlineMs?: number;
}

/**
 * Executes each step in a process of its own: with an empty environment but for what reaches the network, in its own process
 * group, which is ended as a whole. Secrets pass through the control pipe alone. From the first step on, processes wait for the next ones.
 */
export function createChildExecutor(options: ChildExecutorOptions = {}): Executor {
  const running = new Set<ChildExecution>();
  const spare = new SpareChildren({
    create: () => new ExecutorChild(options),
    clock: options.clock ?? systemClock,
    waitMs: SPARE_MS,
    quietMs: QUIET_MS,
  });
  async function release(execution: ChildExecution): Promise<void> {
    await execution.ended;
    running.delete(execution);
    if (running.size === 0) spare.rest();
  }
  return {
    kind: "child",
    isRemote: true,
    start: (job, host) => {
      const execution = new ChildExecution(spare.take(), job, host, options);
      running.add(execution);
      void release(execution);
      return execution;
    },
    [Symbol.asyncDispose]: async () => {
      spare[Symbol.dispose]();
      await Promise.all(Array.from(running, async (one) => one[Symbol.asyncDispose]()));
    },
  };
}

class ChildExecution implements Execution {
  readonly ended: Promise<ExecutionEnd>;
  readonly #child: ExecutorChild;
  readonly #pipes: ExecutionPipes;
  readonly #isBounded: boolean;
  #lost: LossReason | undefined;

  constructor(
    child: ExecutorChild,
    job: ExecutionJob,
    host: ExecutionHost,
    options: ChildExecutorOptions,
  ) {
    const { clock = systemClock, logger, maxMemoryBytes, maxProcessorMs } = options;
    this.#isBounded = maxMemoryBytes !== undefined;
    this.#child = child;
    const { process: started } = child;
    logProcess(started, [started.stdout, started.stderr], job, logger);
    const starting = clock.after(options.startDeadlineMs ?? 30_000, () => {
      this.#end("start_deadline");
    });
    const over = new AbortController();
    const { pid } = started;
    if (pid !== undefined) {
      const bounds = { maxMemoryBytes, maxProcessorMs };
      void watchGroup(pid, bounds, clock, over.signal, (what) => this.#end(what));
    }
    this.#pipes = new ExecutionPipes({
      job,
      host,
      control: child.control,
      events: child.events,
      logger,
      onHello: () => starting[Symbol.dispose](),
      onFailure: (reason) => this.#end(reason === "too_large" ? reason : undefined),
    });
    void this.#endAfterResult();
    this.ended = new Promise<ExecutionEnd>((resolve) => {
      const finish = (code: number | null, signal: string | null): void => {
        starting[Symbol.dispose]();
        over.abort();
        // Providers live in the group.
        this.#child.kill();
        void this.#pipes.ended.then(() => resolve(this.#endOf(code, signal)));
      };
      started.once("exit", finish);
      started.once("error", () => finish(1, null));
    });
  }

  stop(stage: 1 | 2): void {
    this.#pipes.cancel(stage);
    if (stage === 2) this.#child.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await this.ended;
  }

  /** With its result it has said everything, and has given its leases back: what it would close are connections. */
  async #endAfterResult(): Promise<void> {
    await this.#pipes.ended;
    if (this.#pipes.result !== undefined && !this.#child.isOver) this.#child.kill();
  }

  #end(reason: LossReason | undefined): void {
    this.#lost ??= reason;
    this.#child.kill();
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
