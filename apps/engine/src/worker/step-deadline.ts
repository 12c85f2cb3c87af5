import type { Clock } from "@stackwright/base/clock";
import type { Execution } from "../executor/executor.ts";
import type { RunClaim } from "../queue/claim.ts";

/** How long steps of runs may take. */
export interface StepLimits {
  /** Of a plan, and of the recovery of an apply. @default one hour */
  readonly planMs?: number | undefined;
  /** Of a plan of the engine beside that of a tool. @default 15 minutes; never more than another plan */
  readonly shadowMs?: number | undefined;
  /** @default six hours */
  readonly applyMs?: number | undefined;
  /** What an execution has after it was asked to stop, until it is ended. @default five minutes */
  readonly stopMs?: number | undefined;
}

/**
 * The deadline of an execution. It acts like a cancel of two stages: the executor begins nothing more and waits for its calls;
 * later it is ended. Disposing removes it.
 */
export class StepDeadline implements Disposable {
  readonly #limitMs: number;
  #timer: Disposable;
  #stage: 0 | 1 | 2 = 0;

  constructor(
    clock: Clock,
    execution: Execution,
    limits: StepLimits,
    step: RunClaim["step"] | "shadow",
    onStage: (stage: 1 | 2) => void,
  ) {
    const { stopMs = 300_000 } = limits;
    this.#limitMs = limitOf(limits, step);
    const reach = (stage: 1 | 2): void => {
      this.#stage = stage;
      onStage(stage);
      execution.stop(stage);
    };
    this.#timer = clock.after(this.#limitMs, () => {
      this.#timer = clock.after(stopMs, () => reach(2));
      reach(1);
    });
  }

  /** Why the execution was stopped; undefined while it was in time. */
  get reason(): string | undefined {
    if (this.#stage === 0) return undefined;
    return `the step took longer than ${Math.round(this.#limitMs / 1_000)} s`;
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }
}

function limitOf(
  { planMs = 3_600_000, shadowMs = 900_000, applyMs = 6 * 3_600_000 }: StepLimits,
  step: RunClaim["step"] | "shadow",
): number {
  if (step === "shadow") return Math.min(shadowMs, planMs);
  return step === "apply" ? applyMs : planMs;
}
