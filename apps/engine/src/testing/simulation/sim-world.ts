import type { PolicyBlock } from "./sim-case.ts";

/** What a plan of a simulation would do. */
export interface SimPlan {
  readonly digest: string;
  readonly run: string;
  readonly baseRevision: bigint;
  /** Real objects that it makes. */
  readonly objects: number;
  /** What policies say of it. */
  readonly block: PolicyBlock;
  /** What it leaves to a later stage. */
  readonly left: readonly string[];
  /** Plans of other stacks that it was made with, by the stack. */
  readonly reads: ReadonlyMap<string, string>;
}

/** What really happens to one of them. */
export interface SimEffect {
  readonly stack: string;
  readonly run: string;
  readonly digest: string;
  readonly object: number;
  readonly owner: string;
  readonly epoch: bigint;
}

/** What is outside of the store: the plans that were made, and what they did to real objects. */
export class SimWorld {
  readonly plans = new Map<string, SimPlan>();
  readonly effects: SimEffect[] = [];
  readonly #onEffect: (effect: SimEffect) => void;

  constructor(onEffect: (effect: SimEffect) => void) {
    this.#onEffect = onEffect;
  }

  plan(given: Omit<SimPlan, "digest">): SimPlan {
    const digest = (this.plans.size + 1).toString(16).padStart(64, "0");
    const plan = { ...given, digest };
    this.plans.set(digest, plan);
    return plan;
  }

  make(effect: SimEffect): void {
    this.#onEffect(effect);
    this.effects.push(effect);
  }

  of(run: string): readonly SimEffect[] {
    return this.effects.filter((effect) => effect.run === run);
  }
}
