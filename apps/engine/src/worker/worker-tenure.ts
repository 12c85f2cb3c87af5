import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { sleep } from "@stackwright/base/clock";
import { isStorageError, WILDCARD } from "@stackwright/storage";
import type { Lease } from "@stackwright/storage/lease";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, runOfTicket, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { Execution } from "../executor/executor.ts";
import { type ListedTicket, orderTickets } from "../queue/choose-ticket.ts";
import { claimTicket, type RunClaim, STEPS } from "../queue/claim.ts";
import { releaseClaim } from "../queue/release.ts";
import { listTickets, sweepQueues } from "../queue/sweep.ts";
import { idOf } from "../queue/transaction.ts";
import { accessOf, type ExecuteClaimParts, executeClaim } from "./execute-claim.ts";

interface Running {
  readonly claim: RunClaim;
  execution: Execution | undefined;
  readonly done: Promise<void>;
  /** Stage of the cancel that the execution knows of. */
  stage: number;
}

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
/** A ticket whose execution was lost here is not tried again at once: after so long, then twice as long, and so on. */
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

export interface TenureParts extends ExecuteClaimParts {
  /** Steps that are executed at the same time. @default the cores of the machine */
  readonly capacity?: number;
  /** How often everything is looked through, in milliseconds. @default 10,000 */
  readonly sweepMs?: number;
}

/** One tenure of a worker: from its lease to the loss of it. */
export class Tenure {
  readonly id: string;
  readonly #lease: Lease;
  readonly #parts: TenureParts;
  readonly #steal: (worker: string, signal: AbortSignal) => Promise<Lease>;
  readonly #running = new Map<string, Running>();
  /** When executions ended here, by run. */
  readonly #endedAt = new Map<string, number>();
  /** Foreign workers with claims, each waited for until it is dead. */
  readonly #watched = new Map<string, Promise<void>>();
  readonly #ending = new AbortController();
  #bell = Promise.withResolvers<void>();
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
  }

  start(): void {
    const { type: tickets } = SERVER_KINDS.ticket;
    this.#loops = Promise.all([this.#loop(), this.#listen(tickets), this.#listen(RUN_KIND.type)]);
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
    for (const one of this.#running.values()) {
      if (one.claim.step === "plan") one.execution?.stop(2);
    }
    const all = Promise.all(Array.from(this.#running.values(), async ({ done }) => done));
    const { clock } = this.#parts;
    const over = new AbortController();
    await Promise.race([all, sleep(clock, graceMs, over.signal).catch(() => undefined)]);
    for (const one of this.#running.values()) one.execution?.stop(1);
    await Promise.race([all, sleep(clock, STOP_MS, over.signal).catch(() => undefined)]);
    over.abort();
    for (const one of this.#running.values()) one.execution?.stop(2);
    await all;
    await Promise.all([this.#loops, ...this.#watched.values()]);
    // What was claimed in the moment of the end.
    for (const one of this.#running.values()) one.execution?.stop(2);
    await Promise.all(Array.from(this.#running.values(), async ({ done }) => done));
    await this.#lease.release();
  }

  /** Rings when something changes; what it misses, the next sweep finds. */
  async #listen(type: { readonly group: string; readonly kind: string }): Promise<void> {
    const { signal } = this.#ending;
    const { storage, clock, logger } = this.#parts;
    while (!signal.aborted) {
      try {
        using watch = await storage.watchList(type, ANYWHERE, "", { signal });
        for (;;) {
          await watch.next({ signal });
          this.wake();
        }
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error }, "a watch ended and is opened again");
        await sleep(clock, 1_000, signal).catch(() => undefined);
      }
    }
  }

  async #loop(): Promise<void> {
    const { signal } = this.#ending;
    const { clock, logger, random, sweepMs = 10_000 } = this.#parts;
    let sweptAt = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      this.#bell = Promise.withResolvers<void>();
      try {
        if (clock.monotonicMs() - sweptAt >= sweepMs) {
          sweptAt = clock.monotonicMs();
          const repairs = await sweepQueues(this.#parts, { signal });
          if (repairs > 0) logger.warn({ repairs }, "queues were repaired");
        }
        await this.#turn();
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error }, "the worker could not look for tickets and tries again");
      }
      const pause = new AbortController();
      const pauseMs = sweepMs * (0.75 + random() / 2);
      const retry = this.#endedAt.size > 0 ? Math.min(RETRY_MS, pauseMs) : pauseMs;
      await Promise.race([
        this.#bell.promise,
        sleep(clock, retry, AbortSignal.any([signal, pause.signal])).catch(() => undefined),
      ]);
      pause.abort();
    }
  }

  async #turn(): Promise<void> {
    const { signal } = this.#ending;
    const { clock, logger, capacity = availableParallelism() } = this.#parts;
    const tickets = await listTickets(this.#parts, { signal });
    for (const one of tickets) {
      const { worker } = one.ticket.claim ?? {};
      if (worker === this.id) await this.#releaseIdle(one);
      else if (worker !== undefined) this.#watchOver(worker);
    }
    await this.#passCancels();
    const now = clock.monotonicMs();
    for (const [run, endedAt] of this.#endedAt) {
      if (now - endedAt >= MAX_RETRY_MS) this.#endedAt.delete(run);
    }
    for (const one of orderTickets(tickets, clock.wallMs())) {
      if (signal.aborted || this.#running.size >= capacity) return;
      const { run, attempts } = one.ticket;
      const endedAt = this.#endedAt.get(run) ?? Number.NEGATIVE_INFINITY;
      if (now - endedAt < retryMs(attempts) || this.#running.has(run)) continue;
      try {
        await this.#claim(one);
      } catch (error) {
        if (signal.aborted || isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
        // The others need not wait for one that is damaged.
        this.#endedAt.set(run, now);
        logger.error({ run, err: error }, "a ticket could not be claimed");
      }
    }
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
      this.#parts.logger.warn({ run: ticket.run }, "a claim without an execution was released");
    }
  }

  async #claim({ id, ticket }: ListedTicket): Promise<void> {
    const step = STEPS[ticket.step];
    if (step === undefined) return;
    const reference = runOfTicket(id.tenancy, ticket);
    const { grants, logger, clock } = this.#parts;
    const access = await accessOf(this.#parts, { step, reference });
    const token = grants.issue(reference.stack, access);
    const tokenDigest = createHash("sha256").update(token).digest("hex");
    const { guard, tenure, signal: lost } = this.#lease;
    const worker = { id: this.id, epoch: tenure.epoch, guard, lost };
    let claim: RunClaim | undefined;
    try {
      claim = await claimTicket(this.#parts, id, worker, tokenDigest);
    } finally {
      if (claim === undefined) grants.revoke(token);
    }
    if (claim === undefined) return;
    logger.info({ run: ticket.run, step: claim.step }, "a run was claimed");
    const done = Promise.withResolvers<void>();
    // What a cancel left open is what a recovery resolves: only a later request stops the recovery itself.
    const stage = claim.step === "recover" ? claim.cancelStage : 0;
    const running: Running = { claim, execution: undefined, done: done.promise, stage };
    this.#running.set(ticket.run, running);
    void executeClaim(this.#parts, claim, token, (execution) => {
      running.execution = execution;
      if (this.#ending.signal.aborted) execution.stop(claim.step === "plan" ? 2 : 1);
    })
      .catch((error: unknown) => {
        logger.error({ run: ticket.run, err: error }, "the execution of a step failed");
      })
      .finally(() => {
        grants.revoke(token);
        this.#running.delete(ticket.run);
        this.#endedAt.set(ticket.run, clock.monotonicMs());
        done.resolve();
        this.wake();
      });
  }

  /** Passes requests to cancel on to the executors. */
  async #passCancels(): Promise<void> {
    for (const running of this.#running.values()) {
      const { claim, execution, stage } = running;
      const id = idOf(RUN_KIND, runPlace(claim.reference));
      const found = await this.#parts.storage.read("strong", id).catch(() => undefined);
      const wanted = found && decodeRecord(RUN_KIND, found).cancel?.stage;
      if (execution === undefined || wanted === undefined || wanted <= stage) continue;
      running.stage = wanted;
      execution.stop(wanted >= 2 ? 2 : 1);
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
            { run: ticket.run, worker },
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

/** How long a ticket waits after so many claims without a result. */
function retryMs(attempts: number): number {
  return attempts === 0 ? 0 : Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** Math.min(attempts - 1, 16));
}

/** How long executions that were asked to stop have until they are ended. */
const STOP_MS = 10_000;
