import {
  Run_Phase as P,
  type PlanSet,
  type Run,
  Run_Mode,
  PlanSet_Phase as S,
} from "@stackwright/proto/stackwright";
import type { ExpiryRules } from "./expiry-rules.ts";
import { ENDS, nameOf } from "./run-phases.ts";
import type { RunRecords } from "./run-records.ts";
import type { Commit } from "./sim-store.ts";

type Change = readonly [Run | undefined, Run];

/** From each phase to which, as the documentation of plan sets says. */
const NEXT: ReadonlyMap<S, readonly S[]> = new Map([
  [
    S.PHASE_PLANNING,
    [
      S.PHASE_AWAITING_APPROVAL,
      S.PHASE_NO_CHANGES,
      S.PHASE_PLAN_FINISHED,
      S.PHASE_FAILED,
      S.PHASE_DISCARDED,
      S.PHASE_CANCELED,
    ],
  ],
  [
    S.PHASE_AWAITING_APPROVAL,
    [S.PHASE_APPLYING, S.PHASE_FAILED, S.PHASE_DISCARDED, S.PHASE_CANCELED],
  ],
  [S.PHASE_APPLYING, [S.PHASE_APPLIED, S.PHASE_FAILED, S.PHASE_DISCARDED, S.PHASE_CANCELED]],
]);

/** Ends of a run with which its set goes on. */
const GOOD: ReadonlySet<P> = new Set([P.PHASE_APPLIED, P.PHASE_NO_CHANGES, P.PHASE_PLAN_FINISHED]);

/** Ends of a run whose plan waited for an approval. */
const GIVEN_UP: ReadonlySet<P> = new Set([P.PHASE_CANCELED, P.PHASE_DISCARDED, P.PHASE_SUPERSEDED]);

/** Sets of plans and what becomes of their runs: rules 17 to 19 of `RunModel`. */
export class SetRules {
  readonly #records: RunRecords;
  /** Plans that a set had when it was shown for approval, by set and stack. */
  readonly #shown = new Map<string, ReadonlyMap<string, string>>();
  /** Plans by the digest under which they are approved. */
  readonly #plansOf = new Map<string, string>();

  readonly #expiry: ExpiryRules;

  constructor(records: RunRecords, expiry: ExpiryRules) {
    this.#records = records;
    this.#expiry = expiry;
  }

  /** Compares sets and runs after a batch with those before. */
  check(commit: Commit, sets: ReadonlyMap<string, PlanSet>, changed: readonly Change[]): void {
    for (const [name, before] of sets) {
      if (!this.#records.sets.rows.has(name)) {
        this.#records.fail(17, `the set ${this.#named(before)} was removed`);
      }
    }
    for (const [name, after] of this.#records.sets.rows) {
      const before = sets.get(name);
      if (before === after) continue;
      if (before === undefined) this.#checkNew(commit, after);
      else this.#checkSet(commit, before, after);
    }
    for (const [before, after] of changed) this.#checkRun(before, after);
  }

  /** Nothing goes wrong any more: each set has ended with all of its runs, or one of them says what it waits for. */
  checkRest(): void {
    for (const set of this.#records.sets.rows.values()) {
      if (set.settled || set.phase === S.PHASE_AWAITING_APPROVAL) continue;
      const phases = this.#runsOf(set).map(({ phase }) => phase);
      // Each of these is asked for its own reason.
      const waits =
        !isEnded(set.phase) &&
        phases.some((phase) => !ENDS.has(phase) && phase !== P.PHASE_AWAITING_APPROVAL);
      if (waits) continue;
      const text = phases.map((phase) => nameOf(phase)).join();
      this.#records.fail(19, `the set ${this.#named(set)} rests at ${set.phase} with ${text}`);
    }
  }

  #checkNew(commit: Commit, set: PlanSet): void {
    const what = `the set ${this.#named(set)}`;
    const request = this.#requestOf(commit);
    if (request?.kind !== "set" || request.set !== set.id || request.actor !== set.actor) {
      this.#records.fail(17, `${what} is new without a request of its user`);
    }
    if (set.phase !== S.PHASE_PLANNING || set.settled) {
      this.#records.fail(17, `${what} is new and at ${set.phase}`);
    }
    if (set.mode !== Run_Mode.MODE_APPLY) return;
    for (const other of this.#records.sets.rows.values()) {
      if (other === set || isEnded(other.phase) || other.mode !== Run_Mode.MODE_APPLY) continue;
      const stacks = new Set(other.members.map(({ stack }) => stack));
      if (set.members.some(({ stack }) => stacks.has(stack))) {
        this.#records.fail(17, `${what} has a stack of the set ${this.#named(other)}`);
      }
    }
  }

  #checkSet(commit: Commit, before: PlanSet, after: PlanSet): void {
    const what = `the set ${this.#named(after)}`;
    if (isEnded(before.phase)) {
      if (after.phase !== before.phase) this.#records.fail(17, `${what} goes on after its end`);
      const open = this.#runsOf(after).filter(({ phase }) => !ENDS.has(phase));
      if (after.settled && open.length > 0) {
        this.#records.fail(19, `${what} is settled, and ${open.length} of its runs are not`);
      }
      return;
    }
    if (after.settled) this.#records.fail(19, `${what} is settled with its end`);
    const isSame = before.members.map(({ run }) => run).join();
    if (after.members.map(({ run }) => run).join() !== isSame) {
      this.#records.fail(17, `${what} gets other runs`);
    }
    if (after.phase === before.phase) return;
    if (NEXT.get(before.phase)?.includes(after.phase) !== true) {
      this.#records.fail(17, `${what} goes from ${before.phase} to ${after.phase}`);
    }
    if (after.phase === S.PHASE_AWAITING_APPROVAL) this.#show(after, what);
    else if (after.phase === S.PHASE_APPLYING) this.#checkApproved(after, what);
    else this.#checkEnd(commit, after, what);
  }

  /** What is approved is all plans of the set. */
  #show(set: PlanSet, what: string): void {
    const runs = this.#runsOf(set);
    // One may be given up in the very moment in which its set is shown, as it may in the next one: the set, of which nothing was shown then, ends.
    if (runs.some(({ phase, planDigest }) => GIVEN_UP.has(phase) && planDigest !== "")) return;
    const isWhole =
      runs.length === set.members.length &&
      runs.every(({ phase }) => phase === P.PHASE_AWAITING_APPROVAL || GOOD.has(phase));
    if (!isWhole) this.#records.fail(18, `${what} is shown before all of its plans are made`);
    const waiting = runs.filter(({ phase }) => phase === P.PHASE_AWAITING_APPROVAL);
    this.#shown.set(set.id, new Map(waiting.map((run) => [run.stack, run.planDigest])));
    const wanted = Math.max(1, ...waiting.map(({ requiredApprovals }) => requiredApprovals));
    const excludes = waiting.some(({ excludeAuthor }) => excludeAuthor);
    if (set.requiredApprovals !== wanted || set.excludeAuthor !== excludes) {
      this.#records.fail(18, `${what} does not have the strictest rule of its runs`);
    }
    // Two sets with other plans have other digests: what is approved is what was shown.
    const plans = [...(this.#shown.get(set.id) ?? [])].join(" ");
    const known = this.#plansOf.get(set.digest) ?? plans;
    if (known !== plans) this.#records.fail(18, `${what} has the digest of other plans`);
    this.#plansOf.set(set.digest, plans);
    this.#checkReads(set, what);
  }

  /** A plan that was made with the planned outputs of another one was made with those that are approved with it. */
  #checkReads(set: PlanSet, what: string): void {
    for (const run of this.#runsOf(set)) {
      const { reads = new Map<string, string>() } =
        this.#records.world.plans.get(run.planDigest) ?? {};
      for (const [stack, digest] of reads) {
        const other = this.#runsOf(set).find((one) => one.stack === stack);
        if (other?.planDigest !== digest) {
          this.#records.fail(
            18,
            `${what}: ${this.#records.short(run.id)} was planned with another plan of ${stack.slice(-2)}`,
          );
        }
      }
    }
  }

  /** Counted again from what users asked for. */
  #checkApproved(set: PlanSet, what: string): void {
    const actors = this.#approversOf(set);
    if (actors.size < set.requiredApprovals) {
      this.#records.fail(18, `${what}: ${actors.size} of ${set.requiredApprovals} approved it`);
    }
  }

  #approversOf(set: PlanSet): ReadonlySet<string> {
    const actors = new Set(
      [...this.#records.requests.values()].flatMap(
        ({ kind, set: id, planDigest, actor, commits }) =>
          kind === "approve-set" && id === set.id && planDigest === set.digest && commits > 0
            ? [actor]
            : [],
      ),
    );
    if (set.excludeAuthor) actors.delete(set.actor);
    return actors;
  }

  #checkEnd(commit: Commit, set: PlanSet, what: string): void {
    const request = this.#requestOf(commit);
    if (request !== undefined) {
      const kinds = new Map<S, string>([
        [S.PHASE_CANCELED, "cancel-set"],
        [S.PHASE_DISCARDED, "discard-set"],
      ]);
      if (kinds.get(set.phase) !== request.kind || request.set !== set.id) {
        this.#records.fail(17, `${what} ends as ${set.phase} by ${request.kind}`);
      }
      return;
    }
    const runs = this.#runsOf(set);
    if (ENDS_WELL.has(set.phase)) {
      const bad = runs.find(({ phase }) => !GOOD.has(phase));
      if (bad !== undefined) {
        const { id, phase } = bad;
        this.#records.fail(
          19,
          `${what} ends as ${set.phase}, and ${this.#records.short(id)} is ${nameOf(phase)}`,
        );
      }
      return;
    }
    const busy = runs.find(({ phase }) => phase === P.PHASE_APPLYING);
    if (busy !== undefined) {
      this.#records.fail(
        19,
        `${what} ends while ${this.#records.short(busy.id)} of it is being applied`,
      );
    }
    const isReason = runs.some(({ phase }) => ENDS.has(phase) && !GOOD.has(phase));
    const isRefused = /^no (?:run of|credential may)/.test(set.reason);
    if (!isReason && !isRefused && !this.#expiry.isOver(set, commit))
      this.#records.fail(19, `${what} ends for nothing: ${set.reason}`);
  }

  #checkRun(before: Run | undefined, run: Run): void {
    if (run.planSet === "") return;
    const what = `the run ${this.#records.short(run.id)} of a set`;
    const set = [...this.#records.sets.rows.values()].find(({ id }) => id === run.planSet);
    const member = set?.members.find(({ stack }) => stack === run.stack);
    if (set === undefined || member?.run !== run.id) {
      return this.#records.fail(17, `${what} is none of its members`);
    }
    if (before === undefined) {
      if (set.phase !== S.PHASE_PLANNING)
        this.#records.fail(17, `${what} is requested while the set is at ${set.phase}`);
      if (run.actor !== set.actor || run.mode !== set.mode)
        this.#records.fail(17, `${what} is another one than the set wants`);
      return;
    }
    if (run.phase === before.phase) return;
    if (run.phase === P.PHASE_APPROVED || run.phase === P.PHASE_APPLYING) {
      const how = `${what} is ${nameOf(run.phase)}`;
      if (set.phase !== S.PHASE_APPLYING)
        this.#records.fail(19, `${how} while the set is at ${set.phase}`);
      if (this.#shown.get(set.id)?.get(run.stack) !== run.planDigest)
        this.#records.fail(18, `${how} with a plan that was not shown`);
      this.#checkOrder(set, run, how);
    }
  }

  /** What a plan was made with is applied before it, and nothing beside it. */
  #checkOrder(set: PlanSet, run: Run, how: string): void {
    const reads = this.#records.world.plans.get(run.planDigest)?.reads ?? new Map();
    for (const other of this.#runsOf(set)) {
      if (other.id === run.id) continue;
      const { phase } = other;
      if (phase === P.PHASE_APPROVED || phase === P.PHASE_APPLYING) {
        this.#records.fail(19, `${how} while ${this.#records.short(other.id)} is ${nameOf(phase)}`);
      }
      if (reads.has(other.stack) && !GOOD.has(phase)) {
        this.#records.fail(
          18,
          `${how} before ${this.#records.short(other.id)}, with whose plan it was made`,
        );
      }
    }
  }

  /** The runs of a set that were requested. */
  #runsOf({ members }: PlanSet): readonly Run[] {
    return members.flatMap(({ run }) => this.#records.runs.get(run) ?? []);
  }

  #requestOf({ request }: Commit) {
    return request === undefined ? undefined : this.#records.requests.get(request);
  }

  #named({ members }: PlanSet): string {
    return members
      .map(({ run, stack }) => {
        const short = this.#records.short(run);
        return short === run ? stack.slice(-1) : short;
      })
      .join("+");
  }
}

const ENDS_WELL: ReadonlySet<S> = new Set([
  S.PHASE_APPLIED,
  S.PHASE_NO_CHANGES,
  S.PHASE_PLAN_FINISHED,
]);

/** Whether nothing more is planned or applied of a set. */
export function isEnded(phase: S): boolean {
  return (
    phase !== S.PHASE_PLANNING && phase !== S.PHASE_AWAITING_APPROVAL && phase !== S.PHASE_APPLYING
  );
}
