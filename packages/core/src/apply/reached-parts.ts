import type { ResourceChange } from "../plan/change.ts";
import { resourceOf } from "../state/check-state.ts";
import type { ModuleInstance } from "../walk/module-instance.ts";
import type { Target } from "../walk/recorder.ts";
import type { ApplyRun } from "./apply-run.ts";
import type { StepRunner } from "./step-runner.ts";

/** What a run came to: nothing that stands behind an object which was not made, whatever is known of it. */
export class ReachedParts {
  readonly #run: ApplyRun;
  readonly #runner: StepRunner;
  /** Addresses of objects that were not made, and of those behind them that do not change and have no step of their own. */
  readonly missed: ReadonlySet<string>;

  constructor(run: ApplyRun, runner: StepRunner) {
    this.#run = run;
    this.#runner = runner;
    const undone = runner
      .results()
      .flatMap(({ step, status, address }) =>
        step === "make" && status !== "done" ? [address] : [],
      );
    this.missed = withUnchangedBehind(undone, run.given.plan.changes);
  }

  /** Whether all is made that something in a module needs. An evaluation that needs a missing value throws. */
  has({ around, explicit }: ModuleInstance, evaluate: () => unknown): boolean {
    const isMade = (target: Target): boolean =>
      this.#runner.isMade(target) && !isAmong(target, this.missed);
    if (![...around, ...explicit].every(isMade)) return false;
    try {
      const { targets, blocked } = this.#run.given.world.recorder.apart(evaluate);
      return blocked.size === 0 && [...targets].every(isMade);
    } catch {
      return false;
    }
  }
}

function withUnchangedBehind(
  undone: readonly string[],
  changes: readonly ResourceChange[],
): ReadonlySet<string> {
  const behind = new Set(undone);
  if (behind.size === 0) return behind;
  const dependents = new Map<string, string[]>();
  for (const { action, address, deposed, dependencies } of changes) {
    if (action !== "no-op" || deposed !== "") continue;
    for (const { address: needed, scope } of dependencies) {
      const name = scope === "instance" ? needed : `${needed}[]`;
      const list = dependents.get(name);
      if (list === undefined) dependents.set(name, [address]);
      else list.push(address);
    }
  }
  // Grows while it is walked.
  for (const address of behind) {
    for (const name of [address, `${resourceOf(address)}[]`]) {
      for (const dependent of dependents.get(name) ?? []) behind.add(dependent);
    }
  }
  return behind;
}

function isAmong(target: Target, addresses: ReadonlySet<string>): boolean {
  if (target.kind === "instance") return addresses.has(target.address);
  return [...target.slots.values()].some(({ address }) => addresses.has(address));
}
