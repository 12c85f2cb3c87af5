import {
  Run_Phase as P,
  type PlanSet,
  type Run,
  type RunTicket,
  PlanSet_Phase as S,
  RunTicket_Step as Step,
} from "@stackwright/proto/stackwright";
import { nameOf } from "./run-phases.ts";
import type { RunRecords } from "./run-records.ts";
import type { Commit } from "./sim-store.ts";

export const EXPIRED = "approval_expired";
/** How long after its time what waits is ended. */
const GRACE_MS = 60_000;
/** How far behind a sweep may be, with a clock that is slow. */
const OVERDUE_MS = 45_000;
/** How long the server that writes a limit may have stood still since it read the time. */
const STILL_MS = 120_000;
const WEEK_MS = 7 * 24 * 3_600_000;

const WAITS: ReadonlySet<P> = new Set([P.PHASE_AWAITING_APPROVAL, P.PHASE_POLICY_FAILED]);

/** Until when a run can go on by approvals; infinite where that has no end. */
export function limitOf({ phase, approvalDeadlineMs, approvalValidMs, approvals }: Run): number {
  if (WAITS.has(phase) && approvalDeadlineMs !== 0n) return Number(approvalDeadlineMs);
  if (phase !== P.PHASE_APPROVED || approvalValidMs === 0n) return Number.POSITIVE_INFINITY;
  return Math.min(...approvals.map(({ atMs }) => Number(atMs + approvalValidMs)));
}

/** What ends because it was not approved, or not applied, in time: rule 20 of `RunModel`. */
export class ExpiryRules {
  readonly #records: RunRecords;

  constructor(records: RunRecords) {
    this.#records = records;
  }

  /** Compares runs, sets and tickets after a batch with those before. */
  check(
    commit: Commit,
    changed: readonly (readonly [Run | undefined, Run])[],
    tickets: ReadonlyMap<string, RunTicket>,
    sets: ReadonlyMap<string, PlanSet>,
  ): void {
    const wallMs = commit.process.clock.wallMs();
    for (const [before, after] of changed) {
      if (before === undefined) continue;
      const what = `the run ${this.#records.short(after.id)}`;
      if (
        after.planDigest !== "" &&
        after.planDigest !== before.planDigest &&
        after.planSet === ""
      ) {
        this.#checkDeadline(after.approvalDeadlineMs, after.stack, wallMs, what);
      }
      if (before.phase === P.PHASE_DISCARDED && after.phase === P.PHASE_APPLYING)
        this.#fail(`${what} begins to be applied after it was discarded`);
      const isEnd = after.phase === P.PHASE_DISCARDED && before.phase !== P.PHASE_DISCARDED;
      if (isEnd && after.reasonCode === EXPIRED) {
        if (commit.request !== undefined) this.#fail(`${what} ends by its time with a request`);
        if (this.#records.ticketOf(tickets, after.id)?.claim !== undefined)
          this.#fail(`${what} ends by its time while a worker has it`);
        const set = this.#records.setOf(after);
        const isWithSet = set?.phase === S.PHASE_DISCARDED && set.reasonCode === EXPIRED;
        if (!isWithSet && wallMs < limitOf(before) + GRACE_MS)
          this.#fail(`${what}, which is ${nameOf(before.phase)}, ends before its time is over`);
      }
    }
    for (const [name, ticket] of this.#records.tickets.rows) {
      if (ticket.step !== Step.STEP_APPLY || ticket.claim === undefined) continue;
      if (tickets.get(name)?.claim !== undefined) continue;
      const run = this.#records.runs.get(ticket.run);
      if (run !== undefined && wallMs >= limitOf(run) + GRACE_MS) {
        const what = `the run ${this.#records.short(run.id)}`;
        this.#fail(`${what} is claimed by an approval that no longer counts`);
      }
    }
    for (const [name, set] of this.#records.sets.rows) {
      const before = sets.get(name);
      const { approvalDeadlineMs: deadlineMs, members } = set;
      if (before === undefined || before === set) continue;
      if (deadlineMs !== before.approvalDeadlineMs && deadlineMs !== 0n)
        this.#checkDeadline(deadlineMs, members[0]?.stack ?? "", wallMs, "a set");
    }
  }

  /** An object is made. */
  made({ id, phase }: Run): void {
    if (phase === P.PHASE_DISCARDED)
      this.#fail(`the run ${this.#records.short(id)} is applied after it was discarded`);
  }

  /** Nothing goes wrong any more: what waits has time left. */
  checkRest(nowMs: number): void {
    for (const run of this.#records.runs.values()) {
      if (nowMs < limitOf(run) + GRACE_MS + OVERDUE_MS) continue;
      if (this.#records.ticketOf(this.#records.tickets.rows, run.id)?.claim !== undefined) continue;
      this.#fail(`the run ${this.#records.short(run.id)} waits on, and its time is over`);
    }
    for (const { phase, approvalDeadlineMs, id } of this.#records.sets.rows.values()) {
      if (phase !== S.PHASE_AWAITING_APPROVAL || approvalDeadlineMs === 0n) continue;
      if (nowMs >= Number(approvalDeadlineMs) + GRACE_MS + OVERDUE_MS)
        this.#fail(`the set ${id} waits on, and its time is over`);
    }
  }

  /** Whether a set ended because its time was over. */
  isOver({ reasonCode, approvalDeadlineMs }: PlanSet, { process }: Commit): boolean {
    if (reasonCode !== EXPIRED || approvalDeadlineMs === 0n) return false;
    return process.clock.wallMs() >= Number(approvalDeadlineMs) + GRACE_MS;
  }

  /** A limit is that of the project, from the moment in which there was something to approve. */
  #checkDeadline(deadlineMs: bigint, stack: string, wallMs: number, what: string): void {
    const { approvalWaitMs } = this.#records.ruleOf(stack);
    const waitMs = approvalWaitMs === 0n ? WEEK_MS : Number(approvalWaitMs);
    const lateMs = wallMs + waitMs - Number(deadlineMs);
    if (lateMs < -1 || lateMs > STILL_MS)
      this.#fail(`${what} does not have the time that its project gives: ${lateMs} ms`);
  }

  #fail(text: string): void {
    this.#records.fail(20, text);
  }
}
