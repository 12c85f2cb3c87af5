import { type Fence, type RunTicket, RunTicket_Step as Step } from "@stackwright/proto/stackwright";
import { limitOf } from "./expiry-rules.ts";
import { isOn, isPlanOnly, type RunRecords } from "./run-records.ts";
import type { SimProcess } from "./sim-process.ts";
import type { Commit } from "./sim-store.ts";

/** How long one who lists tickets needs until it has claimed one of them; calls of slow processes take longer. */
const PATIENCE_MS = 1_000;
const PATIENCE_CALLS = 50;
/** Within this time a worker lists the tickets of the store, which its watch may have missed. */
const LISTED_MS = 12_500;
/** A ticket that has waited for so long counts as one class higher. */
const PROMOTED_MS = 600_000;
/** Clocks of simulated machines differ by less. */
const SKEW_MS = 15_000;

/** How far the execution of a step is; `killed` by its own worker. */
export type ExecutionState = "begun" | "done" | "killed";

/** Who may claim a ticket, end a claim, and whose ticket comes first: rules 5 and 10 of `RunModel`. */
export class TicketRules {
  readonly #records: RunRecords;
  /** Executions that were lost, by run, and those of them that no attempt was counted for. */
  readonly #losses = new Map<string, number>();
  readonly #uncounted = new Map<string, number>();
  /** Where steps of claims are executed, by run; absent where no execution began. */
  readonly #executions = new Map<string, Map<SimProcess, ExecutionState>>();
  /** The processes of workers, which take their leases. */
  readonly #processes = new Map<string, SimProcess>();
  /** Since when a ticket is free, by run; and how many claims a project has since when. */
  readonly #freeSince = new Map<string, number>();
  readonly #claims = new Map<string, { readonly count: number; readonly sinceMs: number }>();
  /** When a lock or a freeze was there last. */
  #heldUpAt = Number.NEGATIVE_INFINITY;

  constructor(records: RunRecords) {
    this.#records = records;
  }

  lost(run: string): void {
    this.#losses.set(run, this.lossesOf(run) + 1);
    this.#uncounted.set(run, (this.#uncounted.get(run) ?? 0) + 1);
  }

  lossesOf(run: string): number {
    return this.#losses.get(run) ?? 0;
  }

  /** Whether the worker of a claim has no execution whose result may still come. */
  hasNoExecution(run: string, worker: string): boolean {
    const executions = this.#executionsOf(run, worker);
    return executions.length === 0 || executions.some(([, state]) => state === "done");
  }

  /** Those of the worker of the claim: one that lost its claim while it stood still may begin the step late, beside it. */
  #executionsOf(run: string, worker: string): readonly (readonly [SimProcess, ExecutionState])[] {
    const own = this.#processes.get(worker);
    return [...(this.#executions.get(run) ?? [])].filter(([process]) => process === own);
  }

  /** The execution of the step of a claim begins, or is over. */
  executes(run: string, process: SimProcess, state: ExecutionState): void {
    const all = this.#executions.get(run) ?? new Map<SimProcess, ExecutionState>();
    this.#executions.set(run, all.set(process, state));
  }

  /** A lock or a freeze was written. */
  heldUp(atMs: number): void {
    this.#heldUpAt = atMs;
  }

  /** Compares the tickets after a batch with those before. */
  check(
    commit: Commit,
    tickets: ReadonlyMap<string, RunTicket>,
    fences: ReadonlyMap<string, Fence>,
  ): void {
    const { atMs, process } = commit;
    for (const { kind, name } of commit.writes) {
      const { owner = "" } = kind === "Fence" ? (this.#records.fences.rows.get(name) ?? {}) : {};
      if (owner !== "" && name === `worker.${owner}`) this.#processes.set(owner, process);
    }
    for (const [name, before] of tickets) {
      const after = this.#records.tickets.rows.get(name);
      if (after === before || before.claim === undefined) continue;
      const { worker, epoch } = before.claim;
      if (after?.claim?.worker === worker && after.claim.tokenDigest === before.claim.tokenDigest)
        continue;
      const fence = fences.get(`worker.${worker}`);
      const isOwn = fence?.owner === worker && fence.epoch === epoch;
      const isTaken = fence !== undefined && fence.owner !== worker && fence.epoch > epoch;
      const what = `the claim of the run ${this.#records.short(before.run)}`;
      if (after?.claim !== undefined)
        this.#records.fail(5, `${what} goes from one worker to another`);
      if (!isOwn && !isTaken)
        this.#records.fail(5, `${what} is ended by ${process.name} without a lease`);
      this.#count(before.run, after, -1, atMs);
      this.#checkLoss(before, after, isTaken, what);
    }
    for (const [name, after] of this.#records.tickets.rows) {
      const before = tickets.get(name);
      if (after === before) continue;
      if (after.claim === undefined) {
        if (before === undefined || before.claim !== undefined)
          this.#freeSince.set(after.run, atMs);
        continue;
      }
      if (before?.claim !== undefined) continue;
      this.#executions.delete(after.run);
      this.#checkClaim(after, commit);
      this.#freeSince.delete(after.run);
      this.#count(after.run, after, 1, atMs);
    }
  }

  /** A claim ended without a result, or with one. */
  #checkLoss(
    before: RunTicket,
    after: RunTicket | undefined,
    isTaken: boolean,
    what: string,
  ): void {
    const { run } = before;
    const worker = before.claim?.worker ?? "";
    const executions = this.#executionsOf(run, worker);
    // A result that comes back to no store was lost, too; what its own worker killed was not.
    if (isTaken || this.hasNoExecution(run, worker)) this.lost(run);
    // A worker that lost its lease may end what it executes late.
    const isExecuted =
      executions.length > 0 &&
      executions.every(
        ([process, state]) => state === "begun" && !process.isDead && process.pauseMs === 0,
      );
    if (!isTaken && isExecuted && after?.claim === undefined) {
      this.#records.fail(5, `${what} is released while its step is executed`);
    }
    if (after === undefined || after.attempts <= before.attempts) return;
    const uncounted = this.#uncounted.get(run) ?? 0;
    if (uncounted === 0) this.#records.fail(11, `${what} counts as lost, and was not`);
    this.#uncounted.set(run, uncounted - 1);
  }

  #checkClaim(ticket: RunTicket, commit: Commit): void {
    const { process } = commit;
    const { claim, run: id, stack } = ticket;
    const what = `the run ${this.#records.short(id)} is claimed`;
    const fence = this.#records.fences.rows.get(`worker.${claim?.worker ?? ""}`);
    if (fence?.owner !== claim?.worker || fence?.epoch !== claim?.epoch) {
      this.#records.fail(5, `${what} by a worker without a lease`);
    }
    const run = this.#records.runs.get(id);
    if (ticket.step !== Step.STEP_PLAN && claim?.writesState !== true)
      this.#records.fail(5, `${what} to apply without the right to write the state`);
    const isHeld = ticket.step !== Step.STEP_RECOVER && run !== undefined && !isPlanOnly(run);
    const wallMs = process.clock.wallMs();
    if (isHeld && isOn(this.#records.locks.rows.get(stack), wallMs))
      this.#records.fail(5, `${what} past a lock`);
    if (ticket.step === Step.STEP_APPLY && run?.freezeOverride === undefined) {
      const freezes = [stack, this.#records.projectOf(stack)].map((name) =>
        this.#records.freezes.rows.get(name),
      );
      if (freezes.some((one) => isOn(one, wallMs))) this.#records.fail(5, `${what} past a freeze`);
    }
    this.#checkOrder(ticket, commit);
  }

  /** Of tickets that all workers have known for long, one of a lower class, or of a project that has more, is not taken first. */
  #checkOrder(taken: RunTicket, { atMs, process, isLate }: Commit): void {
    const patience = PATIENCE_MS + PATIENCE_CALLS * process.delayMs;
    const isOld = (sinceMs: number): boolean => atMs - sinceMs > patience;
    const isKnown = (sinceMs: number): boolean => atMs - sinceMs > patience + LISTED_MS;
    if (isLate || !isOld(process.disturbedAt) || !isOld(this.#heldUpAt)) return;
    const counts = (stack: string) =>
      this.#claims.get(this.#records.projectOf(stack)) ?? {
        count: 0,
        sinceMs: Number.NEGATIVE_INFINITY,
      };
    for (const ticket of this.#records.tickets.rows.values()) {
      if (ticket.claim !== undefined || ticket.attempts > 0 || this.#isBackground(ticket)) continue;
      if (!isKnown(this.#freeSince.get(ticket.run) ?? atMs)) continue;
      if (process.clock.wallMs() - Number(taken.createdAtMs) > PROMOTED_MS / 2) continue;
      if (isOn(this.#records.locks.rows.get(ticket.stack), Number.NEGATIVE_INFINITY)) continue;
      if (ticket.step === Step.STEP_APPLY && this.#records.freezes.rows.size > 0) continue;
      // By the clock of some worker its approval counts no longer.
      const run = this.#records.runs.get(ticket.run);
      if (run !== undefined && process.clock.wallMs() >= limitOf(run) - SKEW_MS) continue;
      const what = `the run ${this.#records.short(ticket.run)} is passed over by ${this.#records.short(taken.run)}`;
      if (this.#classOf(ticket) < this.#classOf(taken))
        this.#records.fail(10, `${what} of a later class`);
      if (this.#classOf(ticket) !== this.#classOf(taken)) continue;
      const [own, other] = [counts(ticket.stack), counts(taken.stack)];
      if (isKnown(own.sinceMs) && isKnown(other.sinceMs) && own.count < other.count)
        this.#records.fail(10, `${what} of a project that has more`);
    }
  }

  /** Recoveries, applies, plans, plans that nothing waits for, plans of schedules. */
  #classOf(ticket: RunTicket): number {
    if (this.#isBackground(ticket)) return 4;
    const { step, run } = ticket;
    if (step === Step.STEP_RECOVER) return 0;
    if (step === Step.STEP_APPLY) return 1;
    const found = this.#records.runs.get(run);
    return found !== undefined && isPlanOnly(found) ? 3 : 2;
  }

  #isBackground({ run, step }: RunTicket): boolean {
    return step === Step.STEP_PLAN && this.#records.runs.get(run)?.background === true;
  }

  #count(run: string, ticket: RunTicket | undefined, by: number, atMs: number): void {
    const stack = ticket?.stack ?? this.#records.runs.get(run)?.stack ?? "";
    const project = this.#records.projectOf(stack);
    const count = (this.#claims.get(project)?.count ?? 0) + by;
    this.#claims.set(project, { count, sinceMs: atMs });
  }
}
