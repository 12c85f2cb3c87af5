import { type Fence, type RunTicket, RunTicket_Step as Step } from "@stackwright/proto/stackwright";
import { isOn, isPlanOnly, type RunRecords } from "./run-records.ts";
import type { Commit } from "./sim-store.ts";

/** Why a worker gives a claim back whose end, or whose beginning, was lost on the way to the store. */
const NOT_STORED = "the result of the step could not be stored";
/** How long a ticket may wait while others that come later are taken: a worker lists tickets before it takes some. */
const PATIENCE_MS = 15_000;

/** Who may claim a ticket, end a claim, and whose ticket comes first: rules 5 and 10 of `RunModel`. */
export class TicketRules {
  readonly #records: RunRecords;
  /** Executions that were lost, by run. */
  readonly #losses = new Map<string, number>();
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
  }

  lossesOf(run: string): number {
    return this.#losses.get(run) ?? 0;
  }

  /** A lock or a freeze was written. */
  heldUp(atMs: number): void {
    this.#heldUpAt = atMs;
  }

  /** Compares the tickets after a batch with those before. */
  check(
    { atMs, process }: Commit,
    tickets: ReadonlyMap<string, RunTicket>,
    fences: ReadonlyMap<string, Fence>,
  ): void {
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
      const isIdle = this.#records.runs.get(before.run)?.reason === NOT_STORED;
      if (after !== undefined && (isTaken || isIdle)) this.lost(before.run);
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
      this.#checkClaim(after, atMs, process);
      this.#freeSince.delete(after.run);
      this.#count(after.run, after, 1, atMs);
    }
  }

  #checkClaim(ticket: RunTicket, atMs: number, process: Commit["process"]): void {
    const { claim, run: id, stack } = ticket;
    const what = `the run ${this.#records.short(id)} is claimed`;
    const fence = this.#records.fences.rows.get(`worker.${claim?.worker ?? ""}`);
    if (fence?.owner !== claim?.worker || fence?.epoch !== claim?.epoch) {
      this.#records.fail(5, `${what} by a worker without a lease`);
    }
    const run = this.#records.runs.get(id);
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
    this.#checkOrder(ticket, atMs, process);
  }

  /** Of tickets that all workers have known for long, one of a lower class, or of a project that has more, is not taken first. */
  #checkOrder(taken: RunTicket, atMs: number, process: Commit["process"]): void {
    const isCalm =
      atMs - process.disturbedAt > 2 * PATIENCE_MS && atMs - this.#heldUpAt > PATIENCE_MS;
    if (!isCalm) return;
    const counts = (stack: string) =>
      this.#claims.get(this.#records.projectOf(stack)) ?? {
        count: 0,
        sinceMs: Number.NEGATIVE_INFINITY,
      };
    for (const ticket of this.#records.tickets.rows.values()) {
      if (ticket.claim !== undefined || ticket.attempts > 0 || ticket.background) continue;
      const since = this.#freeSince.get(ticket.run) ?? atMs;
      if (atMs - since < PATIENCE_MS) continue;
      if (isOn(this.#records.locks.rows.get(ticket.stack), Number.NEGATIVE_INFINITY)) continue;
      if (ticket.step === Step.STEP_APPLY && this.#records.freezes.rows.size > 0) continue;
      const what = `the run ${this.#records.short(ticket.run)} is passed over by ${this.#records.short(taken.run)}`;
      if (classOf(ticket) < classOf(taken)) this.#records.fail(10, `${what} of a later class`);
      if (classOf(ticket) !== classOf(taken)) continue;
      const [own, other] = [counts(ticket.stack), counts(taken.stack)];
      const isOld = atMs - Math.max(own.sinceMs, other.sinceMs) > PATIENCE_MS;
      if (isOld && own.count < other.count)
        this.#records.fail(10, `${what} of a project that has more`);
    }
  }

  #count(run: string, ticket: RunTicket | undefined, by: number, atMs: number): void {
    const stack = ticket?.stack ?? this.#records.runs.get(run)?.stack ?? "";
    const project = this.#records.projectOf(stack);
    const count = (this.#claims.get(project)?.count ?? 0) + by;
    this.#claims.set(project, { count, sinceMs: atMs });
  }
}

/** Recoveries, applies, plans, plans that nothing waits for. */
function classOf({ step, class: ticketClass, background }: RunTicket): number {
  if (background) return 4;
  if (step === Step.STEP_RECOVER) return 0;
  if (step === Step.STEP_APPLY) return 1;
  return ticketClass === 2 ? 3 : 2;
}
