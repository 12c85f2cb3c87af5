import { availableParallelism } from "node:os";
import { sleep } from "@stackwright/base/clock";
import { isStorageError } from "@stackwright/storage";
import type { Lease, LeaseTiming } from "@stackwright/storage/lease";
import { mayReact, type ServerClock } from "../clock/server-clock.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, runOfTicket, runPlace } from "../domain/run-places.ts";
import { DriftMirror } from "../drift/drift-index.ts";
import { fireDriftChecks } from "../drift/fire-drift-checks.ts";
import type { WorkerObserver } from "../metrics/run-metrics.ts";
import { advanceOpenSets } from "../plan-set/advance-open-sets.ts";
import {
  backgroundCapacity,
  type ListedTicket,
  MAX_RETRY_MS,
  orderTickets,
  RETRY_MS,
  retryMs,
  withClaim,
} from "../queue/choose-ticket.ts";
import { claimTicket, type RunClaim, STEPS, standingOf } from "../queue/claim.ts";
import { listen } from "../queue/listen.ts";
import { releaseClaim } from "../queue/release.ts";
import { digestOfRunToken } from "../queue/run-token.ts";
import { ServedProjects } from "../queue/served-projects.ts";
import { listTickets, sweepQueues } from "../queue/sweep.ts";
import type { TicketBoard } from "../queue/ticket-board.ts";
import { idOf } from "../queue/transaction.ts";
import { fireSchedules } from "../schedule/fire-schedules.ts";
import { traceIdOf } from "../span/trace-context.ts";
import { fireTriggers } from "../trigger/fire-triggers.ts";
import { type ExecuteClaimParts, executeClaim } from "./execute-claim.ts";
import { isLeftToOthers } from "./left-to-others.ts";
import { LiveServers } from "./live-servers.ts";
import { executionsOf, OrphanSweep } from "./orphan-sweep.ts";
import type { RunGrants } from "./run-grants.ts";
import { RunningSteps } from "./running-steps.ts";
import { accessOf, type StoredClaimParts, storedClaimHost } from "./stored-claim-host.ts";

export interface TenureParts extends ExecuteClaimParts, StoredClaimParts {
  /** Where the next step is chosen. Its owner closes it after the worker. */
  readonly tickets: Pick<TicketBoard, "list" | "listStored" | "rung">;
  readonly grants: RunGrants;
  /** Where executors reach the store. */
  readonly socketPath: string | undefined;
  /** Steps that are executed at the same time; 0 relieves dead workers and repairs queues alone. @default the cores of the machine */
  readonly capacity?: number;
  /** @default none */
  readonly observer?: WorkerObserver | undefined;
  /** Of the leases of all workers. */
  readonly timing?: LeaseTiming;
  /** The release of the server, for operators of the store. @default it does not say */
  readonly release?: string | undefined;
  /** How often everything is looked through, in milliseconds. @default 10,000 */
  readonly sweepMs?: number;
  /** How long a run that only plans may wait for a worker, in milliseconds. @default 24 hours */
  readonly planWaitMs?: number | undefined;
  /** What is known of the clock of the server. One that is wrong does nothing that is due by the time. @default it is right */
  readonly serverClock?: ServerClock | undefined;
}

const SWEEP_MS = 10_000;

/** How long a step that is left to other servers is not looked at again. */
const LEFT_MS = 30_000;

/** One tenure of a worker: from its lease to the loss of it. */
export class Tenure {
  readonly id: string;
  readonly #lease: Lease;
  readonly #parts: TenureParts;
  readonly #steal: (worker: string, signal: AbortSignal) => Promise<Lease>;
  readonly #running: RunningSteps<RunClaim>;
  /** When executions ended here, by run. */
  readonly #endedAt = new Map<string, number>();
  /** Until when steps are left to other servers, by run. */
  readonly #leftUntil = new Map<string, number>();
  /** Foreign workers with claims, each waited for until it is dead. */
  readonly #watched = new Map<string, Promise<void>>();
  readonly #ending = new AbortController();
  readonly #orphans: OrphanSweep;
  readonly #servers: LiveServers;
  readonly #served: ServedProjects;
  #bell = Promise.withResolvers<void>();
  /** When the tickets of the store are listed next, at the latest. */
  #listAt = Number.NEGATIVE_INFINITY;
  /** Whether since then a claim may have been stored here that has no execution. */
  #isUnsure = false;
  #drift: DriftMirror | undefined;
  #loops: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(
    id: string,
    lease: Lease,
    parts: TenureParts,
    steal: (worker: string, signal: AbortSignal) => Promise<Lease>,
  ) {
    this.id = id;
    this.#lease = lease;
    this.#parts = parts;
    this.#steal = steal;
    this.#running = new RunningSteps(parts.clock, () => this.wake());
    this.#servers = new LiveServers(parts);
    this.#served = parts.served ?? new ServedProjects(parts.clock);
    this.#orphans = new OrphanSweep(parts, async (names) => {
      const claimed = executionsOf(await listTickets(parts));
      return names.filter((name) => !claimed.has(name));
    });
  }

  get #capacity(): number {
    return this.#parts.capacity ?? availableParallelism();
  }

  start(): void {
    const { signal } = this.#ending;
    this.#parts.observer?.capacity(this.#capacity);
    const wake = (): void => this.wake();
    this.#drift = new DriftMirror(this.#parts, wake, signal);
    this.#loops = Promise.all([
      this.#loop(),
      this.#drift.done,
      this.#parts.serverClock?.follow?.({ id: this.id, guard: this.#lease.guard }, signal),
      this.#follow(signal),
      listen(this.#parts, RUN_KIND.type, wake, signal),
    ]);
  }

  /** Resolves with true when the lease is lost, with false when the signal aborts before. */
  async lost(ending: AbortSignal): Promise<boolean> {
    const { signal } = this.#lease;
    const over = AbortSignal.any([signal, ending]);
    await new Promise<void>((resolve) => {
      over.addEventListener("abort", () => resolve(), { once: true });
      if (over.aborted) resolve();
    });
    return !ending.aborted;
  }

  wake(): void {
    this.#bell.resolve();
  }

  /** Ends all executions: plans at once, applies within the time. Gives the lease back. */
  async close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    this.#ending.abort(new Error("the worker ends"));
    this.wake();
    await this.#running.stop(graceMs);
    await Promise.all([this.#loops, ...this.#watched.values()]);
    // What was claimed in the moment of the end.
    await this.#running.kill();
    await this.#orphans.ended;
    await this.#lease.release();
  }

  async #loop(): Promise<void> {
    const { signal } = this.#ending;
    const { clock, logger, sweepMs = SWEEP_MS } = this.#parts;
    let sweptAt = Number.NEGATIVE_INFINITY;
    let checkedAt = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      this.#bell = Promise.withResolvers<void>();
      try {
        if (clock.monotonicMs() - sweptAt >= sweepMs) {
          sweptAt = clock.monotonicMs();
          const repairs = await sweepQueues(this.#parts, { signal });
          if (repairs > 0) logger.warn({ repairs }, "queues were repaired");
          await advanceOpenSets(this.#parts, { signal });
          const runs = (await this.#mayReact()) ? await fireSchedules(this.#parts, { signal }) : 0;
          if (runs > 0) logger.info({ runs }, "schedules requested runs");
          const triggered = await fireTriggers(this.#parts, { signal });
          if (triggered > 0) logger.info({ runs: triggered }, "triggers requested runs");
        }
        const drift = this.#drift?.index;
        if (drift !== undefined && clock.monotonicMs() - checkedAt >= sweepMs) {
          checkedAt = clock.monotonicMs();
          const checks = (await this.#mayReact()) ? await fireDriftChecks(this.#parts, drift) : 0;
          if (checks > 0) logger.info({ runs: checks }, "stacks are checked for drift");
        }
        this.#orphans.begin();
        await this.#turn();
      } catch (error) {
        if (signal.aborted) return;
        this.#isUnsure = true;
        logger.warn({ err: error }, "the worker could not look for tickets and tries again");
      }
      const pause = new AbortController();
      const leastMs = Math.min(RETRY_MS, sweepMs);
      const pauseMs = Math.max(leastMs, this.#listAt - clock.monotonicMs());
      const retry = this.#endedAt.size > 0 ? Math.min(RETRY_MS, pauseMs) : pauseMs;
      await Promise.race([
        this.#bell.promise,
        sleep(clock, retry, AbortSignal.any([signal, pause.signal])).catch(() => undefined),
      ]);
      pause.abort();
    }
  }

  async #mayReact(): Promise<boolean> {
    return mayReact(this.#parts.serverClock);
  }

  /** Looks again when a ticket was written that no worker has. */
  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#parts.tickets.rung(signal);
      this.wake();
    }
  }

  async #turn(): Promise<void> {
    const { clock } = this.#parts;
    const tickets = await this.#listTickets();
    this.#served.observe(tickets);
    await this.#passCancels();
    const now = clock.monotonicMs();
    for (const [run, endedAt] of this.#endedAt) {
      if (now - endedAt >= MAX_RETRY_MS) this.#endedAt.delete(run);
    }
    for (const [run, until] of this.#leftUntil) if (until <= now) this.#leftUntil.delete(run);
    const tried = new Set<string>();
    // Which one is next depends on what each project has: on the step that was just claimed, too.
    for (let listed = tickets; ; ) {
      const taken = await this.#claimFirst(listed, tried, now);
      if (taken === undefined) return;
      this.#served.serve(taken);
      listed = withClaim(listed, taken);
    }
  }

  /**
   * The tickets to choose from: those of the board, and of the store as often as everything is looked through, when claims
   * without an execution are released and other workers with claims begin to be watched.
   */
  async #listTickets(): Promise<readonly ListedTicket[]> {
    const { signal } = this.#ending;
    const { clock, random, tickets: board, sweepMs = SWEEP_MS } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (!this.#isUnsure && nowMs < this.#listAt) return board.list({ signal });
    this.#isUnsure = false;
    const tickets = await board.listStored({ signal });
    signal.throwIfAborted();
    this.#listAt = nowMs + sweepMs * (0.75 + random() / 2);
    for (const one of tickets) {
      const { worker } = one.ticket.claim ?? {};
      if (worker === this.id) await this.#releaseIdle(one);
      else if (worker !== undefined) this.#watchOver(worker);
    }
    return tickets;
  }

  /** Claims the first ticket that can be claimed and was not tried, unless another worker was faster; undefined where there is none, or no room. */
  async #claimFirst(
    tickets: readonly ListedTicket[],
    tried: Set<string>,
    now: number,
  ): Promise<ListedTicket | undefined> {
    const { signal } = this.#ending;
    const { clock, logger } = this.#parts;
    const capacity = this.#capacity;
    if (this.#running.size >= capacity) return undefined;
    for (const one of orderTickets(tickets, clock.wallMs(), "", this.#served)) {
      if (signal.aborted || this.#running.size >= capacity) return undefined;
      const { run, attempts, background } = one.ticket;
      if (tried.has(run)) continue;
      tried.add(run);
      if (background && this.#backgroundSteps() >= backgroundCapacity(capacity)) continue;
      const endedAt = this.#endedAt.get(run) ?? Number.NEGATIVE_INFINITY;
      if (now - endedAt < retryMs(attempts) || this.#running.has(run)) continue;
      if ((this.#leftUntil.get(run) ?? 0) > now) continue;
      try {
        if (await isLeftToOthers(this.#parts, this.#servers, one)) this.#leave(one, now);
        else if ((await this.#claim(one)) || (await this.#isTaken(one))) return one;
      } catch (error) {
        if (signal.aborted || isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
        // The others need not wait for one that is damaged.
        this.#endedAt.set(run, now);
        const traceId = traceIdOf(run, one.ticket.traceParent);
        logger.error({ run, traceId, err: error }, "a ticket could not be claimed");
      }
    }
    return undefined;
  }

  /** Whether another worker was faster, or this one has the claim from an attempt whose outcome it never learned. */
  async #isTaken(one: ListedTicket): Promise<boolean> {
    const { worker } = await standingOf(this.#parts, one);
    if (worker === this.id) this.#isUnsure = true;
    return worker !== undefined;
  }

  /** Lets other servers claim a step whose key this one has not. */
  #leave({ ticket: { run, traceParent } }: ListedTicket, now: number): void {
    this.#leftUntil.set(run, now + LEFT_MS);
    const traceId = traceIdOf(run, traceParent);
    this.#parts.logger.warn(
      { run, traceId },
      "a run is left to another server, as its key is not here",
    );
  }

  #backgroundSteps(): number {
    return [...this.#running.values()].filter(({ claim }) => claim.background).length;
  }

  /**
   * Gives a claim of this worker back that no execution belongs to: its end could not be stored, or the answer to the claim
   * was lost. As long as this worker lives, no other does it.
   */
  async #releaseIdle({ id, ticket }: ListedTicket): Promise<void> {
    if (this.#running.has(ticket.run)) return;
    const { guard } = this.#lease;
    const reason = "the result of the step could not be stored";
    const idle = { ticket: id, worker: this.id, guard, actor: this.id, reason };
    if (await releaseClaim(this.#parts, idle)) {
      const traceId = traceIdOf(ticket.run, ticket.traceParent);
      this.#parts.logger.warn(
        { run: ticket.run, traceId },
        "a claim without an execution was released",
      );
    }
  }

  /** Resolves with whether this worker has the step now. */
  async #claim({ id, ticket }: ListedTicket): Promise<boolean> {
    const step = STEPS[ticket.step];
    if (step === undefined) return false;
    const reference = runOfTicket(id.tenancy, ticket);
    const { grants, logger, clock } = this.#parts;
    const access = await accessOf(this.#parts, { step, reference });
    const token = grants.issue(reference.stack, access);
    const tokenDigest = digestOfRunToken(token);
    const { guard, tenure, signal: lost } = this.#lease;
    const worker = { id: this.id, epoch: tenure.epoch, guard, lost };
    let claim: RunClaim | undefined;
    try {
      claim = await claimTicket(this.#parts, id, worker, tokenDigest, {
        listed: ticket,
        writesState: access === "write",
      });
    } finally {
      if (claim === undefined) grants.revoke(token);
    }
    if (claim === undefined) return false;
    const { traceParent } = claim;
    const traceId = traceIdOf(ticket.run, traceParent);
    logger.info({ run: ticket.run, step: claim.step, traceId }, "a run was claimed");
    // What a cancel left open is what a recovery resolves: only a later request stops the recovery itself.
    const stage = claim.step === "recover" ? claim.cancelStage : 0;
    const { executor, socketPath } = this.#parts;
    const isApart = executor.isRemote && socketPath !== undefined;
    const executed = {
      run: ticket.run,
      step: claim.step,
      lost,
      traceParent,
      store: isApart ? { address: { socketPath }, token } : undefined,
    };
    const host = storedClaimHost(this.#parts, claim, this.#ending.signal);
    const waitedMs = claim.attempts === 0 ? clock.wallMs() - Number(ticket.createdAtMs) : undefined;
    this.#running.add(ticket.run, { claim, stage }, async (onStart) => {
      const over = this.#parts.observer?.begins(executed.step, waitedMs);
      try {
        const isEnded = await executeClaim(this.#parts, executed, host, onStart);
        over?.(isEnded ? "ended" : lost.aborted ? "lost" : "failed");
        if (!isEnded) this.#isUnsure = true;
      } catch (error) {
        this.#isUnsure = true;
        over?.(lost.aborted ? "lost" : "failed");
        logger.error({ run: ticket.run, traceId, err: error }, "the execution of a step failed");
      } finally {
        grants.revoke(token);
        this.#endedAt.set(ticket.run, clock.monotonicMs());
      }
    });
    return true;
  }

  /** Passes requests to cancel on to the executors. */
  async #passCancels(): Promise<void> {
    for (const { claim } of this.#running.values()) {
      const id = idOf(RUN_KIND, runPlace(claim.reference));
      const found = await this.#parts.storage.read("strong", id).catch(() => undefined);
      const stage = found && decodeRecord(RUN_KIND, found).cancel?.stage;
      if (stage !== undefined) this.#running.cancel(claim.reference.run, stage);
    }
  }

  /** Waits until a foreign worker is dead, and gives its tickets back. One that lives is waited for without end. */
  #watchOver(worker: string): void {
    if (this.#watched.has(worker)) return;
    const { signal } = this.#ending;
    const watching = (async () => {
      await using lease = await this.#steal(worker, signal);
      for (const { id, ticket } of await listTickets(this.#parts, { signal })) {
        if (ticket.claim?.worker !== worker) continue;
        const reason = "the worker of the run was lost";
        const dead = { ticket: id, worker, guard: lease.guard, actor: this.id, reason };
        if (await releaseClaim(this.#parts, dead)) {
          this.#parts.logger.warn(
            { run: ticket.run, traceId: traceIdOf(ticket.run, ticket.traceParent), worker },
            "a claim of a dead worker was released",
          );
        }
      }
      this.wake();
    })()
      .catch((error: unknown) => {
        if (!signal.aborted)
          this.#parts.logger.warn({ err: error }, "a dead worker was not relieved");
      })
      .finally(() => this.#watched.delete(worker));
    this.#watched.set(worker, watching);
  }
}
