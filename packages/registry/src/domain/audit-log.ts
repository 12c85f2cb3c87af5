import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { AuditEntry as AuditMessage } from "@stackwright/proto/stackwright";
import {
  type BatchOperation,
  createUlidGenerator,
  listResourceHeads,
  type Tenancy,
  ulidTime,
  WILDCARD,
} from "@stackwright/storage";
import type { RequestContext } from "./model.ts";
import { deleteOperation, type RecordStore, recordKind, writeOperation } from "./record-store.ts";

const AUDIT_KIND = recordKind("AuditEntry", AuditMessage);

/** What was done, or refused. */
export interface AuditFacts {
  /** Such as `provider.create`. */
  readonly action: string;
  readonly target: string;
  /** `done`, or the code of the refusal. @default "done" */
  readonly outcome?: string;
  readonly details?: Readonly<Record<string, string>>;
}

/** One line of the audit trail. */
export interface AuditEntry {
  readonly id: string;
  readonly timeMs: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly requestId: string;
  readonly clientRequestId: string;
  readonly remoteAddress: string;
  readonly details: Readonly<Record<string, string>>;
}

/** Greatest number of refusals recorded per tenancy and minute: a flood of refused requests does not fill the disk. */
const REFUSALS_PER_MINUTE = 60;

const DAY_MS = 86_400_000;
/** Days behind an entry that are read without a look for the oldest one that there is. */
const TRIED_DAYS = 400;

/** Names of entries may be made so long before their batches are committed: until then nobody reads behind them. */
const AUDIT_SETTLED_MS = 60_000;

/** A part of the trail: what follows an entry. */
export interface AuditPage {
  /** Id of the entry before; "" for the oldest. */
  readonly after: string;
  readonly limit: number;
}

/**
 * The audit trail: one record per change, written in the same step as the change, and one per
 * refusal, as far as there are not too many. Names begin with the day, so a day is read, or
 * dropped, without the others.
 */
export class AuditLog {
  readonly #records: RecordStore;
  readonly #clock: Clock;
  readonly #logger: Logger | undefined;
  readonly #ulid: () => string;
  readonly #refusals = new Map<string, { minute: number; count: number }>();

  constructor(records: RecordStore, clock: Clock, logger: Logger | undefined) {
    this.#records = records;
    this.#clock = clock;
    this.#logger = logger;
    this.#ulid = createUlidGenerator(clock);
  }

  /** The operation that records a change, for the batch that makes it. */
  entry(tenancy: Tenancy, context: RequestContext, facts: AuditFacts): BatchOperation {
    const id = this.#ulid();
    return writeOperation(
      { kind: AUDIT_KIND, tenancy, name: `${dayOf(ulidTime(id))}/${id}` },
      {
        timeMs: BigInt(this.#clock.wallMs()),
        actor: context.actor,
        action: facts.action,
        target: facts.target.slice(0, 256),
        outcome: facts.outcome ?? "done",
        requestId: context.requestId,
        clientRequestId: context.clientRequestId ?? "",
        remoteAddress: context.remoteAddress ?? "",
        details: new Map(Object.entries(facts.details ?? {})),
      },
    );
  }

  /** Records a refusal, unless there were too many recently. Never rejects. */
  async refused(tenancy: Tenancy, context: RequestContext, facts: AuditFacts): Promise<void> {
    if (!this.#mayNote(`${tenancy.partition}/${tenancy.namespace}`)) return;
    await this.note(tenancy, context, facts);
  }

  /** Records a change outside of a batch. Never rejects; what cannot be stored is logged. */
  async note(tenancy: Tenancy, context: RequestContext, facts: AuditFacts): Promise<void> {
    try {
      await this.#records.storage.batch([this.entry(tenancy, context, facts)]);
    } catch (error) {
      this.#logger?.warn(
        { err: error, action: facts.action },
        "an audit entry could not be stored",
      );
    }
  }

  /** The entries of one day (`YYYY-MM-DD`, UTC), oldest first. */
  async day(tenancy: Tenancy, day: string): Promise<readonly AuditEntry[]> {
    return this.#read(tenancy, `${day}/`);
  }

  /**
   * Entries of all days in the order of their ids, oldest first, without those of the last minute: of entries that are made at the same
   * time a later one may be stored first, and what follows it would then be read without the earlier one. So no reader that continues
   * behind its last entry misses one.
   */
  async page(tenancy: Tenancy, { after, limit }: AuditPage): Promise<readonly AuditEntry[]> {
    const untilMs = this.#clock.wallMs() - AUDIT_SETTLED_MS;
    const last = dayNumber(untilMs);
    // What is no entry may name any time: nothing follows one that is to come, and no days before the first are read.
    let day = after === "" ? 0 : dayNumber(ulidTime(after));
    if (last - day > TRIED_DAYS) day = Math.max(day, (await this.#firstDay(tenancy)) ?? last + 1);
    const found: AuditEntry[] = [];
    // A day at a time, so that little is held, and little is read again for each page.
    for (; day <= last && found.length < limit; day += 1) {
      for (const one of await this.#read(tenancy, `${dayOf(day * DAY_MS)}/`)) {
        if (found.length < limit && one.id > after && ulidTime(one.id) <= untilMs) found.push(one);
      }
    }
    return found;
  }

  /** The day of the oldest entry; undefined without entries. Holds no more than a part of the names. */
  async #firstDay(tenancy: Tenancy): Promise<number | undefined> {
    const { storage } = this.#records;
    let first: string | undefined;
    for await (const { id } of listResourceHeads(storage, "strong", AUDIT_KIND.type, tenancy, "")) {
      if (first === undefined || id.name < first) first = id.name;
    }
    return first === undefined ? undefined : dayNumber(Date.parse(first.slice(0, 10)));
  }

  async #read(tenancy: Tenancy, prefix: string): Promise<readonly AuditEntry[]> {
    const found = await this.#records.list(AUDIT_KIND, tenancy, prefix);
    return found
      .map(({ value, resource }) => ({
        id: resource.id.name.slice(resource.id.name.indexOf("/") + 1),
        timeMs: Number(value.timeMs),
        actor: value.actor,
        action: value.action,
        target: value.target,
        outcome: value.outcome,
        requestId: value.requestId,
        clientRequestId: value.clientRequestId,
        remoteAddress: value.remoteAddress,
        details: Object.fromEntries(value.details),
      }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Drops the entries of all accounts that are older than so many days; returns how many. */
  async prune(keepDays: number): Promise<number> {
    const oldest = dayOf(this.#clock.wallMs() - keepDays * DAY_MS);
    const everywhere = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
    const entries = await this.#records.list(AUDIT_KIND, everywhere, "");
    const old = entries.filter(({ resource }) => resource.id.name < oldest);
    for (let at = 0; at < old.length; at += 32) {
      await this.#records.storage.batch(old.slice(at, at + 32).map(deleteOperation));
    }
    return old.length;
  }

  #mayNote(key: string): boolean {
    const minute = Math.floor(this.#clock.monotonicMs() / 60_000);
    const seen = this.#refusals.get(key);
    if (seen?.minute === minute) return (seen.count += 1) <= REFUSALS_PER_MINUTE;
    if (this.#refusals.size > 10_000) this.#refusals.clear();
    this.#refusals.set(key, { minute, count: 1 });
    return true;
  }
}

function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

/** Days since 1970. */
function dayNumber(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS);
}
