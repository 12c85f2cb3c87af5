import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { AuditEntry as AuditMessage } from "@stackwright/proto/stackwright";
import {
  type BatchOperation,
  createUlidGenerator,
  type DamagedResource,
  listResourceHeads,
  type Tenancy,
  ulidTime,
  WILDCARD,
} from "@stackwright/storage";
import { AuditOrder, dayOf, LATE_MS } from "./audit-order.ts";
import type { RequestContext } from "./model.ts";
import {
  type OnDamagedRecord,
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
const REMOVED_AT_ONCE = 32;
/** Trails that are remembered between two looks at what is old. */
const MOST_TRAILS = 10_000;
const EVERYWHERE: Tenancy = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** What a process knows of the entries that are old. */
interface Pruned {
  /** The first day that stays. */
  readonly oldest: string;
  /** When all trails were looked for. */
  readonly walkedAtMs: number;
  /** Undefined where they are too many to be remembered. */
  readonly trails: readonly Tenancy[] | undefined;
}

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
  readonly #mostTrails: number;
  #pruned: Pruned | undefined;

  constructor(
    records: RecordStore,
    clock: Clock,
    logger: Logger | undefined,
    mostTrails = MOST_TRAILS,
  ) {
    this.#mostTrails = mostTrails;
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

  /**
   * Drops the entries of all accounts that are older than so many days; returns how many. Names begin with the day, so nothing becomes old
   * before the day changes. An entry that is damaged goes to `onDamaged`, and stays. The first call looks at the names of all entries, and so does one when what was not there then may be old by
   * now, or where there are too many trails; the others look at the days that became old since the last one.
   */
  async prune(keepDays: number, onDamaged?: OnDamagedRecord): Promise<number> {
    const nowMs = this.#clock.wallMs();
    const beforeMs = nowMs - keepDays * DAY_MS;
    const oldest = dayOf(beforeMs);
    const known = this.#pruned;
    if (known !== undefined && oldest <= known.oldest) return 0;
    let removed = 0;
    if (known?.trails === undefined || beforeMs >= known.walkedAtMs - LATE_MS) {
      const trails = new Map<string, Tenancy>();
      removed = await this.#removeBefore(oldest, EVERYWHERE, "", { onDamaged, trails });
      const remembered = trails.size > this.#mostTrails ? undefined : [...trails.values()];
      this.#pruned = { oldest, walkedAtMs: nowMs, trails: remembered };
    } else {
      for (const tenancy of known.trails) {
        for (let day = known.oldest; day < oldest; day = nextDay(day)) {
          removed += await this.#removeBefore(oldest, tenancy, `${day}/`, { onDamaged });
        }
      }
      this.#pruned = { ...known, oldest };
    }
    await this.#order.prune(beforeMs, onDamaged);
    return removed;
  }

  /** Removes entries with names before a day, of those that begin with a prefix; adds the trails of all that it finds. */
  async #removeBefore(
    day: string,
    tenancy: Tenancy,
    prefix: string,
    {
      onDamaged,
      trails,
    }: {
      readonly onDamaged: OnDamagedRecord | undefined;
      readonly trails?: Map<string, Tenancy>;
    },
  ): Promise<number> {
    const { storage } = this.#records;
    let removed = 0;
    let old: BatchOperation[] = [];
    const remove = async (): Promise<void> => {
      if (old.length > 0) await storage.batch(old);
      removed += old.length;
      old = [];
    };
    const options = onDamaged && {
      onDamaged: ({ id, reason }: DamagedResource) => {
        trails?.set(`${id.tenancy.partition}\0${id.tenancy.namespace}`, id.tenancy);
        onDamaged(id, reason);
      },
    };
    const heads = listResourceHeads(storage, "strong", AUDIT_KIND.type, tenancy, prefix, options);
    for await (const { id, version } of heads) {
      trails?.set(`${id.tenancy.partition}\0${id.tenancy.namespace}`, id.tenancy);
      if (id.name >= day) continue;
      old.push({ kind: "delete", id, version });
      if (old.length === REMOVED_AT_ONCE) await remove();
    }
    await remove();
    return removed;
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

function nextDay(day: string): string {
  return dayOf(Date.parse(day) + DAY_MS);
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
