import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { AuditDelivery, AuditWebhook } from "@stackwright/proto/stackwright";
import { isStorageError, WILDCARD } from "@stackwright/storage";
import { createLeases, type Lease, type Leases, type Renewer } from "@stackwright/storage/lease";
import { accountTenancy } from "../access/access-places.ts";
import type { AuditTrail } from "../access/registry-audit.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import { type SendParts, sendEntries } from "./send-entries.ts";
import { auditWebhookPlace } from "./webhook-place.ts";

const KIND = SERVER_KINDS.auditWebhook;
const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
/** How often it is looked whether the trails have gone on. */
const LOOK_MS = 2_000;
/** Entries of one request. */
const BATCH = 100;
/** How long one webhook is served before others have their turn. */
const TURN_MS = 20_000;
/** Webhooks that are served at the same time. */
const MAX_SERVED = 8;
/** How long a webhook rests that this server cannot serve at all, as it has not its key. */
const REST_MS = 60_000;
const SECOND_MS = 1_000;
/** Requests that a webhook shows, and characters of what was wrong with one. */
const MAX_DELIVERIES = 20;
const MAX_PROBLEM = 256;
/** Pauses after failed attempts, in seconds; the last one is that of all further attempts. */
const PAUSES = [5, 15, 60, 300, 900, 3_600] as const;

interface AuditForwarderParts extends TransactionParts, SendParts {
  readonly audit: Pick<AuditTrail, "page">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly renewer?: Renewer | undefined;
}

/** A webhook with its account. */
interface Served {
  readonly account: string;
  readonly webhook: AuditWebhook;
}

// The trail is the outbox: its entries are stored with the changes that they are about, have numbers without holes, and stay for months. So
// a webhook needs no more than the number of the last entry that its receiver has. It is written after the answer: where a server dies in
// between, the same entries are sent again. Nothing is given up: what fails is tried each hour, and what follows waits behind it.

/**
 * Sends the audit trails to their webhooks, each in its order and at least once. Any number of servers do so on one store: the lease of a
 * webhook is with one of them, and the write of how far it is names it.
 */
export class AuditForwarder {
  readonly #parts: AuditForwarderParts;
  readonly #leases: Leases;
  readonly #ending = new AbortController();
  readonly #busy = new Map<string, Promise<void>>();
  /** Until when webhooks rest, by their ids. */
  readonly #resting = new Map<string, number>();
  /** When they were served last. */
  #served = new Map<string, number>();
  readonly #loop: Promise<void>;

  constructor(parts: AuditForwarderParts) {
    this.#parts = parts;
    const { storage, clock, renewer } = parts;
    this.#leases = createLeases({
      storage,
      clock,
      owner: `audit@${hostname()} (process ${process.pid}, ${randomUUID().slice(0, 8)})`,
      ...(renewer !== undefined && { renewer }),
    });
    this.#loop = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error("the server stops"));
    await Promise.all([this.#loop, ...this.#busy.values()]);
  }

  async #run(): Promise<void> {
    const { clock, logger, random } = this.#parts;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      try {
        await this.#look(signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error }, "the audit webhooks could not be read; they are read again");
      }
      await sleep(clock, LOOK_MS * (0.75 + random() / 2), signal).catch(() => undefined);
    }
  }

  /** Begins to serve the webhooks that are due, those that were served longest ago first. */
  async #look(signal: AbortSignal): Promise<void> {
    const { storage, clock, logger } = this.#parts;
    const nowMs = clock.wallMs();
    const onDamaged = logDamaged(logger);
    const stored = await listReadable(storage, KIND, ANYWHERE, { signal, onDamaged });
    const all = stored.map(
      ({ id, message }): Served => ({ account: id.tenancy.partition, webhook: message }),
    );
    const known = new Set(all.map(({ webhook }) => webhook.id));
    for (const id of this.#resting.keys()) if (!known.has(id)) this.#resting.delete(id);
    this.#served = new Map([...this.#served].filter(([id]) => known.has(id)));
    const servedAt = ({ webhook }: Served): number => this.#served.get(webhook.id) ?? 0;
    for (const served of all.toSorted((a, b) => servedAt(a) - servedAt(b))) {
      const { id, paused, nextAtMs } = served.webhook;
      if (this.#busy.size >= MAX_SERVED) return;
      if (paused || Number(nextAtMs) > nowMs || this.#busy.has(id)) continue;
      if ((this.#resting.get(id) ?? 0) > clock.monotonicMs()) continue;
      this.#begin(served);
    }
  }

  #begin(served: Served): void {
    const { clock, logger } = this.#parts;
    const { id, name } = served.webhook;
    this.#served.set(id, clock.monotonicMs());
    const done = this.#serve(served)
      .catch((error: unknown) => {
        // Another server has it, or the store is away: it is looked at again in any case.
        if (this.#ending.signal.aborted || isStorageError(error)) return;
        this.#resting.set(id, clock.monotonicMs() + REST_MS);
        logger.warn({ webhook: name, err: error }, "an audit webhook cannot be served");
      })
      .finally(() => void this.#busy.delete(id));
    this.#busy.set(id, done);
  }

  /** Sends what follows the last entry that the receiver has, until there is nothing, an attempt fails, or the turn is over. */
  async #serve({ account, webhook }: Served): Promise<void> {
    const { audit, clock } = this.#parts;
    const { signal: ending } = this.#ending;
    // Nothing is written while nothing is new.
    const after = Number(webhook.after);
    if ((await audit.page(account, { after, limit: 1 })).length === 0) return;
    const name = { tenancy: accountTenancy(account), name: `audit-${webhook.id}` };
    await using lease = await this.#leases.tryAcquire(name, { signal: ending });
    if (lease === undefined) return;
    const signal = AbortSignal.any([ending, lease.signal]);
    const untilMs = clock.monotonicMs() + TURN_MS;
    while (!signal.aborted && clock.monotonicMs() < untilMs) {
      if (!(await this.#sendNext(account, webhook, lease, signal))) return;
    }
  }

  /** Sends one batch; false where nothing more is to be sent now. */
  async #sendNext(
    account: string,
    { id, name }: Pick<AuditWebhook, "id" | "name">,
    lease: Lease,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { audit, clock, random } = this.#parts;
    const place = auditWebhookPlace(account, name);
    // As it is now: settings may have changed, and another server may have sent something.
    const found = await transact(this.#parts, async (tx) => tx.find(KIND, place));
    const webhook = found?.message;
    const nowMs = clock.wallMs();
    if (webhook?.id !== id || webhook.paused || Number(webhook.nextAtMs) > nowMs) return false;
    const entries = await audit.page(account, { after: Number(webhook.after), limit: BATCH });
    const [first, last] = [entries.at(0), entries.at(-1)];
    if (first === undefined || last === undefined) return false;
    const message = { id: `${id}-${first.sequence}-${last.sequence}`, entries, nowMs };
    const { isDelivered, problem, status } = await sendEntries(
      this.#parts,
      account,
      webhook,
      message,
      signal,
    );
    return transact(this.#parts, async (tx) => {
      signal.throwIfAborted();
      tx.guard(lease.guard);
      const row = await tx.find(KIND, place);
      if (row?.message.id !== id) return false;
      const at = BigInt(Math.floor(tx.nowMs));
      const delivery: AuditDelivery = {
        atMs: at,
        first: BigInt(first.sequence),
        last: BigInt(last.sequence),
        status,
        problem: problem.slice(0, MAX_PROBLEM),
      };
      const deliveries = [...row.message.deliveries, delivery].slice(-MAX_DELIVERIES);
      if (isDelivered) {
        tx.update(row, {
          deliveries,
          after: BigInt(last.sequence),
          attempts: 0,
          nextAtMs: 0n,
          failingSinceMs: 0n,
          problem: "",
          deliveredAtMs: at,
        });
        return true;
      }
      // Its address was changed while the former one was tried.
      if (row.message.version !== webhook.version) return false;
      const { attempts, failingSinceMs } = row.message;
      const pause = PAUSES[Math.min(attempts, PAUSES.length - 1)] ?? PAUSES[0];
      const pauseMs = pause * SECOND_MS * (0.8 + random() * 0.4);
      tx.update(row, {
        deliveries,
        attempts: attempts + 1,
        nextAtMs: BigInt(Math.floor(tx.nowMs + pauseMs)),
        failingSinceMs: failingSinceMs === 0n ? at : failingSinceMs,
        problem,
      });
      return false;
    });
  }
}
