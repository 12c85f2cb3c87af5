import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { AuditEntry as AuditMessage } from "@stackwright/proto/stackwright";
import {
  type BatchOperation,
  createUlidGenerator,
  type Tenancy,
  ulidTime,
  WILDCARD,
} from "@stackwright/storage";
import { AuditOrder, dayOf } from "./audit-order.ts";
import type { RequestContext } from "./model.ts";
import {
  deleteOperation,
  type RecordName,
  type RecordStore,
  recordKind,
  type StoredRecord,
  writeOperation,
} from "./record-store.ts";

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
const READS_AT_ONCE = 32;

/** An entry with its place in the order of the trail. */
export interface NumberedAuditEntry extends AuditEntry {
  /** 1 for the first entry. */
  readonly sequence: number;
}

/** A part of the trail: what follows an entry. */
export interface AuditPage {
  /** Number of the entry before; 0 for the first. */
  readonly after: number;
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
  readonly #order: AuditOrder;
  readonly #refusals = new Map<string, { minute: number; count: number }>();

  constructor(records: RecordStore, clock: Clock, logger: Logger | undefined) {
    this.#records = records;
    this.#clock = clock;
    this.#logger = logger;
    this.#ulid = createUlidGenerator(clock);
    this.#order = new AuditOrder(records, clock, AUDIT_KIND.type);
  }

  /** The operation that records a change, for the batch that makes it. */
  entry(tenancy: Tenancy, context: RequestContext, facts: AuditFacts): BatchOperation {
    const id = this.#ulid();
    return writeOperation(nameOf(tenancy, id), {
      timeMs: BigInt(this.#clock.wallMs()),
      actor: context.actor,
      action: facts.action,
      target: facts.target.slice(0, 256),
      outcome: facts.outcome ?? "done",
      requestId: context.requestId,
      clientRequestId: context.clientRequestId ?? "",
      remoteAddress: context.remoteAddress ?? "",
      details: new Map(Object.entries(facts.details ?? {})),
    });
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
   * Entries of all days behind a number, in the order of their numbers, which is that in which they are found: nothing appears before
   * what was read, so that no reader that continues behind its last entry misses one.
   */
  async page(
    tenancy: Tenancy,
    { after, limit }: AuditPage,
  ): Promise<readonly NumberedAuditEntry[]> {
    const found: NumberedAuditEntry[] = [];
    let behind = after;
    for (;;) {
      const named = await this.#order.behind(tenancy, behind, limit - found.length);
      for (let at = 0; at < named.length; at += READS_AT_ONCE) {
        const part = named.slice(at, at + READS_AT_ONCE);
        const read = await Promise.all(
          part.map(async ({ id, sequence }) => {
            const record = await this.#records.read(nameOf(tenancy, id));
            return record && { ...entryOf(record), sequence };
          }),
        );
        // Those past their time are gone.
        for (const entry of read) if (entry !== undefined) found.push(entry);
      }
      const last = named.at(-1);
      if (last === undefined || found.length >= limit) return found;
      behind = last.sequence;
    }
  }

  async #read(tenancy: Tenancy, prefix: string): Promise<readonly AuditEntry[]> {
    const found = await this.#records.list(AUDIT_KIND, tenancy, prefix);
    return found.map(entryOf).toSorted((a, b) => (a.id < b.id ? -1 : 1));
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
    await this.#order.prune(this.#clock.wallMs() - keepDays * DAY_MS);
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

function nameOf(tenancy: Tenancy, id: string): RecordName<AuditMessage> {
  return { kind: AUDIT_KIND, tenancy, name: `${dayOf(ulidTime(id))}/${id}` };
}

function entryOf({ value, resource }: StoredRecord<AuditMessage>): AuditEntry {
  return {
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
  };
}
