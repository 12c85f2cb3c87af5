import {
  Run_Phase as P,
  Project_AutoApply,
  Project_Supersede,
  type Run,
} from "@stackwright/proto/stackwright";
import type { RunRecords } from "./run-records.ts";

/** Whose plan a run has, who approved it, and what a newer run may end: rule 4 of `RunModel`, and that part of rule 1. */
export class PlanRules {
  readonly #records: RunRecords;
  /** Runs with plans that may be applied without an approval. */
  readonly #unapproved = new Set<string>();

  constructor(records: RunRecords) {
    this.#records = records;
  }

  checkSupersede(run: Run, from: P, what: string): void {
    const policy =
      this.#records.projects.rows.get(this.#records.projectOf(run.stack))?.supersede ??
      Project_Supersede.SUPERSEDE_UNSPECIFIED;
    const waits = from === P.PHASE_AWAITING_APPROVAL || from === P.PHASE_POLICY_FAILED;
    const mayEnd = waits
      ? policy === Project_Supersede.SUPERSEDE_UNAPPROVED || run.savedPlan
      : from === P.PHASE_QUEUED && policy !== Project_Supersede.SUPERSEDE_UNSPECIFIED;
    if (!mayEnd) this.#records.fail(1, `${what}, which its project does not want`);
  }

  checkPlan(before: Run | undefined, after: Run, what: string): void {
    if (after.planDigest === (before?.planDigest ?? "")) {
      const isSame =
        before === undefined ||
        (before.excludeAuthor === after.excludeAuthor &&
          before.requiredApprovals === after.requiredApprovals);
      if (!isSame) this.#records.fail(4, `${what} has another rule than when it was planned`);
      return;
    }
    if (after.planDigest === "") return;
    const plan = this.#records.world.plans.get(after.planDigest);
    if (plan?.run !== after.id || plan.baseRevision !== after.baseRevision) {
      this.#records.fail(4, `${what} has a plan that was not made for it`);
    }
    const rule = this.#records.ruleOf(after.stack);
    if (
      after.requiredApprovals !== Math.max(1, rule.requiredApprovals) ||
      after.excludeAuthor !== rule.excludeAuthor
    ) {
      this.#records.fail(4, `${what} does not have the rule of its project`);
    }
  }

  /** Counted again from what users asked for. */
  checkApprovals(run: Run, what: string): void {
    const rule = this.#records.ruleOf(run.stack);
    const first = this.#records.firstStageOf(run);
    const asked = [...this.#records.requests.values()].find(
      (one) => one.kind === "enqueue" && one.run === first.id,
    );
    // What policies held up waits for approvals in any case.
    const isHeldUp = (this.#records.world.plans.get(run.planDigest)?.block ?? "none") !== "none";
    if (run.autoApply && !isHeldUp) {
      // The rule of the moment of the plan, as it may have changed since.
      const isAllowed =
        asked?.autoApply === true ||
        this.#records.sourceOf(first)?.autoApply === true ||
        rule.autoApply === Project_AutoApply.AUTO_APPLY_ALWAYS;
      if (isAllowed) this.#unapproved.add(`${run.id} ${run.planDigest}`);
      if (!this.#unapproved.has(`${run.id} ${run.planDigest}`)) {
        this.#records.fail(4, `${what}: it has no approval, and no rule lets it go without one`);
      }
      return;
    }
    const set = this.#records.setOf(run);
    const actors = new Set(
      [...this.#records.requests.values()].flatMap(
        ({ kind, run: id, set: ofSet, planDigest, actor, commits }) => {
          const isForRun = kind === "approve" && id === run.id && planDigest === run.planDigest;
          const isForSet =
            kind === "approve-set" && ofSet === set?.id && planDigest === set?.digest;
          return commits > 0 && (set === undefined ? isForRun : isForSet) ? [actor] : [];
        },
      ),
    );
    if (run.excludeAuthor) actors.delete(run.actor);
    if (actors.size < run.requiredApprovals) {
      this.#records.fail(
        4,
        `${what}: ${actors.size} of ${run.requiredApprovals} approved its plan`,
      );
    }
  }

  /** Of a plan that policies forbid, or let pass with a permission: rule 15. */
  checkPolicies(run: Run, to: P, what: string): void {
    const block = this.#records.world.plans.get(run.planDigest)?.block ?? "none";
    if (to === P.PHASE_POLICY_FAILED && block === "none") {
      this.#records.fail(15, `${what}, which no policy wants`);
    }
    const goesOn = to === P.PHASE_APPROVED || to === P.PHASE_AWAITING_APPROVAL;
    if (!goesOn || block === "none") return;
    const isAllowed = [...this.#records.requests.values()].some(
      ({ kind, run: id, planDigest, actor, commits }) =>
        kind === "pass" &&
        id === run.id &&
        planDigest === run.planDigest &&
        commits > 0 &&
        (!run.excludeAuthor || actor !== run.actor),
    );
    if (block === "forbidden" || !isAllowed) {
      this.#records.fail(15, `${what}, although policies hold its plan up`);
    }
  }

  /** Every approval that a run keeps was given, to the plan that it has. */
  checkKept(after: Run, what: string): void {
    for (const { actor, planDigest } of after.approvals) {
      if (planDigest !== after.planDigest)
        this.#records.fail(4, `${what} keeps an approval of another plan`);
      const set = this.#records.setOf(after);
      const asked = [...this.#records.requests.values()].some((one) =>
        set === undefined
          ? one.kind === "approve" &&
            one.run === after.id &&
            one.actor === actor &&
            one.planDigest === planDigest
          : one.kind === "approve-set" &&
            one.set === set.id &&
            one.actor === actor &&
            one.planDigest === set.digest,
      );
      if (!asked) this.#records.fail(4, `${what} has an approval that ${actor} did not give`);
    }
  }
}
