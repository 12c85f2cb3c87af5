import type { Run, RunPatch, RunPhase, Runs } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";

/** How the engine ended the run, by its table. */
interface RunOutcome extends RunPatch {
  readonly phase: RunPhase;
}

/**
 * The record of one run for an engine in an executor. An executor writes no runs: the beginning of an apply is asked of
 * the worker, which holds the claim, and the end is kept as the outcome, which the worker writes.
 */
export class ForwardedRuns implements Runs {
  #run: Run;
  #outcome: RunOutcome | undefined;
  readonly #beginApply: (epoch: bigint) => Promise<void>;

  constructor(id: string, phase: RunPhase, beginApply: (epoch: bigint) => Promise<void>) {
    this.#run = { id, phase, cause: "", createdAtMs: 0, updatedAtMs: 0 };
    this.#beginApply = beginApply;
  }

  /** The end that the engine found; undefined while there is none. */
  get outcome(): RunOutcome | undefined {
    return this.#outcome;
  }

  async create(): Promise<Run> {
    return Promise.resolve(this.#run);
  }

  async read(id: string): Promise<Run | undefined> {
    return Promise.resolve(id === this.#run.id ? this.#run : undefined);
  }

  async list(): Promise<readonly Run[]> {
    return Promise.resolve([]);
  }

  async remove(): Promise<void> {
    // Runs are removed by the server.
  }

  async transition(id: string, from: RunPhase, to: RunPhase, patch: RunPatch = {}): Promise<Run> {
    if (id !== this.#run.id || this.#run.phase !== from) {
      throw new EngineError("ENGINE_STATE_TRANSITION", `the run ${id} is not ${from}`);
    }
    if (to === "applying") await this.#beginApply(patch.epoch ?? 0n);
    else this.#outcome = { phase: to, ...patch };
    this.#run = { ...this.#run, ...patch, phase: to };
    return this.#run;
  }
}
