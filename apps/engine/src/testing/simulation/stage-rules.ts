import { Run_Phase as P, Project_AutoApply, type Run } from "@stackwright/proto/stackwright";
import type { RunRecords } from "./run-records.ts";

/** What becomes of what a plan leaves: rule 16 of `RunModel`. */
export class StageRules {
  readonly #records: RunRecords;

  constructor(records: RunRecords) {
    this.#records = records;
  }

  /** Compares the runs that a batch wrote with those before. */
  check(changed: readonly (readonly [Run | undefined, Run])[]): void {
    for (const [before, after] of changed) {
      const what = `the run ${this.#records.short(after.id)}`;
      this.#checkLeft(before, after, what);
      if (before === undefined && after.stage !== undefined) this.#checkNew(changed, after, what);
      if (before?.phase !== P.PHASE_APPLIED && after.phase === P.PHASE_APPLIED) {
        this.#checkNext(changed, after, what);
      }
      const isLater = before !== undefined && before.stage?.next !== after.stage?.next;
      if (isLater && after.phase !== P.PHASE_APPLIED) {
        this.#records.fail(16, `${what} has a next stage before it is applied`);
      }
    }
  }

  /** A run remembers what its plan left, until the end. */
  #checkLeft(before: Run | undefined, after: Run, what: string): void {
    if (after.planDigest === "" || after.stage === undefined) return;
    const left = this.#records.world.plans.get(after.planDigest)?.left ?? [];
    if (after.stage.left.join() !== left.join()) {
      this.#records.fail(
        16,
        `${what} leaves ${after.stage.left.join()}, and its plan ${left.join()}`,
      );
    }
    if (before?.stage !== undefined && before.stage.number !== after.stage.number) {
      this.#records.fail(16, `${what} becomes another stage`);
    }
  }

  /** The first one is requested by a user, each other one with the end of the one before. */
  #checkNew(changed: readonly (readonly [Run | undefined, Run])[], run: Run, what: string): void {
    const { number = 0, previous = "", before = [] } = run.stage ?? {};
    if (previous === "") {
      if (number !== 1) this.#records.fail(16, `${what} is stage ${number}, and the first one`);
      return;
    }
    const former = changed.find(([, { id }]) => id === previous)?.[1];
    if (former?.phase !== P.PHASE_APPLIED) {
      return this.#records.fail(16, `${what} is requested without the stage before it`);
    }
    if (former.cancel !== undefined) {
      this.#records.fail(16, `${what} is requested after a run that was canceled`);
    }
    if (number !== (former.stage?.number ?? 0) + 1) {
      this.#records.fail(16, `${what} is stage ${number} after ${former.stage?.number}`);
    }
    if (before.join() !== (former.stage?.left ?? []).join()) {
      this.#records.fail(16, `${what} does not know what the stage before it left`);
    }
    const isSame =
      run.configuration === former.configuration &&
      run.mode === former.mode &&
      run.actor === former.actor &&
      run.background === former.background;
    if (!isSame) this.#records.fail(16, `${what} is another run than the stage before it`);
    const isBehind = this.#records.queues.rows.get(run.stack)?.current !== run.id;
    // What a user asked for, or what the project says at this moment.
    const mayGo = former.autoApplyRequested
      ? former.autoApply
      : this.#records.ruleOf(run.stack).autoApply === Project_AutoApply.AUTO_APPLY_ALWAYS;
    if (run.autoApply && (isBehind || !mayGo)) {
      this.#records.fail(16, `${what} goes without an approval, and nothing lets it`);
    }
  }

  /** What was left is requested, once. */
  #checkNext(changed: readonly (readonly [Run | undefined, Run])[], run: Run, what: string): void {
    const next = changed.filter(
      ([before, { stage }]) => before === undefined && stage?.previous === run.id,
    );
    const wants = (run.stage?.left ?? []).length > 0 && run.cancel === undefined;
    if (next.length !== (wants ? 1 : 0)) {
      this.#records.fail(16, `${what} is applied, and ${next.length} runs are its next stage`);
    }
    const [made] = next;
    if ((run.stage?.next ?? "") !== (made?.[1].id ?? "")) {
      this.#records.fail(16, `${what} names another next stage than the one that was requested`);
    }
  }
}
