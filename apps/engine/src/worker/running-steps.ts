import { type Clock, sleep } from "@stackwright/base/clock";
import type { Execution } from "../executor/executor.ts";
import type { RunClaim } from "../queue/claim.ts";

/** A step that a worker executes. */
interface RunningStep<Claim> {
  readonly claim: Claim;
  /** Undefined until its executor has been started. */
  execution: Execution | undefined;
  readonly done: Promise<void>;
  /** Stage of the cancel that the execution knows of. */
  stage: number;
}

/** How long executions that were asked to stop have until they are ended. */
const STOP_MS = 10_000;

/** The steps that a worker executes at the same time, by run, and how they end with it. */
export class RunningSteps<Claim extends { readonly step: RunClaim["step"] }> {
  readonly #steps = new Map<string, RunningStep<Claim>>();
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  #isEnding = false;

  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  get size(): number {
    return this.#steps.size;
  }

  has(run: string): boolean {
    return this.#steps.has(run);
  }

  runs(): string[] {
    return [...this.#steps.keys()];
  }

  values(): Iterable<RunningStep<Claim>> {
    return this.#steps.values();
  }

  /** Executes a step; `execute` says when its executor has been started. It does not reject. */
  add(
    run: string,
    { claim, stage }: Pick<RunningStep<Claim>, "claim" | "stage">,
    execute: (onStart: (execution: Execution) => void) => Promise<void>,
  ): void {
    const done = Promise.withResolvers<void>();
    const step: RunningStep<Claim> = { claim, execution: undefined, done: done.promise, stage };
    this.#steps.set(run, step);
    const started = (execution: Execution): void => {
      step.execution = execution;
      // What was claimed in the moment of the end.
      if (this.#isEnding) execution.stop(claim.step === "plan" ? 2 : 1);
    };
    void execute(started).finally(() => {
      this.#steps.delete(run);
      done.resolve();
      this.#onEnd();
    });
  }

  /** Resolves when no step of a run is executed here. */
  async ended(run: string): Promise<void> {
    await this.#steps.get(run)?.done;
  }

  /** Passes a cancel on to the executor of a run, once per stage. */
  cancel(run: string, stage: number): void {
    const step = this.#steps.get(run);
    if (step?.execution === undefined || stage <= step.stage) return;
    step.stage = stage;
    step.execution.stop(stage >= 2 ? 2 : 1);
  }

  /** Ends all: plans at once, applies within the time; after that they are canceled, and 10 s later ended. */
  async stop(graceMs: number): Promise<void> {
    this.#isEnding = true;
    for (const { claim, execution } of this.#steps.values()) {
      if (claim.step === "plan") execution?.stop(2);
    }
    const all = this.#ended();
    const over = new AbortController();
    const wait = async (ms: number) =>
      Promise.race([all, sleep(this.#clock, ms, over.signal).catch(() => undefined)]);
    await wait(graceMs);
    for (const { execution } of this.#steps.values()) execution?.stop(1);
    await wait(STOP_MS);
    over.abort();
    await this.kill();
  }

  /** Ends all at once, and resolves when they have ended. */
  async kill(): Promise<void> {
    for (const { execution } of this.#steps.values()) execution?.stop(2);
    await this.#ended();
  }

  async #ended(): Promise<void> {
    await Promise.all(Array.from(this.#steps.values(), async ({ done }) => done));
  }
}
