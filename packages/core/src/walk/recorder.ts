import type { InstanceSlot, ResourceValues } from "./resource-values.ts";

/** Something that can be depended on: one instance, or all instances of a resource. */
export type Target = InstanceSlot | ResourceValues;

/** What an evaluation gave, and what it used. */
export interface Recorded<T> {
  readonly result: T;
  readonly targets: ReadonlySet<Target>;
  /** What it used although it is wrong: variables, locals and outputs with an error or a failed check. */
  readonly blocked: ReadonlySet<string>;
}

/** From how many instances of one resource on they are taken together. */
const COLLECTIVE = 16;

/**
 * Records what evaluations ask for. Evaluation is synchronous, so one set at a time is the current one; what is
 * evaluated once and used often (locals, variables, outputs) is recorded once and added wherever it is used.
 */
export class DependencyRecorder {
  #current: Set<Target> | undefined;
  #blocked: Set<string> | undefined;

  /** Records that the current evaluation uses something without a reliable value: a failed check, or an error. */
  block(addresses: Iterable<string>): void {
    for (const address of addresses) this.#blocked?.add(address);
  }

  /** Records that the current evaluation read something. */
  touch(target: Target): void {
    this.#current?.add(target);
  }

  touchAll(targets: ReadonlySet<Target>): void {
    const current = this.#current;
    if (current === undefined || current === targets) return;
    for (const target of targets) current.add(target);
  }

  /** Records an evaluation that the one around it does not use. */
  apart<T>(evaluate: () => T): Recorded<T> {
    const outer = this.#current;
    const outerBlocked = this.#blocked;
    this.#current = undefined;
    this.#blocked = undefined;
    try {
      return this.record(evaluate);
    } finally {
      this.#current = outer;
      this.#blocked = outerBlocked;
    }
  }

  /** Runs an evaluation and returns what it read; the enclosing evaluation has read the same. */
  record<T>(evaluate: () => T): Recorded<T> {
    const outer = this.#current;
    const outerBlocked = this.#blocked;
    const targets = new Set<Target>();
    const blocked = new Set<string>();
    this.#current = targets;
    this.#blocked = blocked;
    try {
      const result = evaluate();
      return { result, targets: mergeDependencies(targets), blocked };
    } finally {
      this.#current = outer;
      this.#blocked = outerBlocked;
      this.touchAll(targets);
      this.block(blocked);
    }
  }
}

/**
 * Takes many instances of one resource together, and drops instances that are covered by their resource. Keeps the
 * number of edges linear where many read many through one local.
 */
function mergeDependencies(targets: ReadonlySet<Target>): ReadonlySet<Target> {
  const counts = new Map<ResourceValues, number>();
  for (const target of targets) {
    if (target.kind === "instance") {
      counts.set(target.resource, (counts.get(target.resource) ?? 0) + 1);
    }
  }
  const result = new Set<Target>();
  for (const target of targets) {
    if (target.kind === "resource") result.add(target);
    else if (targets.has(target.resource)) continue;
    else if ((counts.get(target.resource) ?? 0) > COLLECTIVE) result.add(target.resource);
    else result.add(target);
  }
  return result;
}
