import type { Clock } from "@stackwright/base/clock";
import { AuditSegment, AuditOrder as OrderMessage } from "@stackwright/proto/stackwright";
import {
  type BatchOperation,
  createUlidGenerator,
  isStorageError,
  listResourceHeads,
  type ResourceId,
  type Tenancy,
  type UnversionedType,
  ulidTime,
  WILDCARD,
} from "@stackwright/storage";
import { isRegistryError } from "../errors.ts";
import {
  deleteOperation,
  type OnDamagedRecord,
  type RecordStore,
  recordKind,
  type StoredRecord,
  writeOperation,
} from "./record-store.ts";

const ORDER_KIND = recordKind("AuditOrder", OrderMessage);
const SEGMENT_KIND = recordKind("AuditSegment", AuditSegment);

const SEGMENT_SIZE = 256;
/** Segments that are written in one batch. */
const BATCH_SEGMENTS = 20;
const MAX_ATTEMPTS = 20;
const DAY_MS = 86_400_000;
/**
 * How long before the last numbering the id of an entry may have been made that it did not see: by a clock that is behind, or for a
 * batch that was repeated until then.
 */
export const LATE_MS = 2 * DAY_MS;
/** How far the clock that made an id may be ahead: later ones get no number yet. */
const AHEAD_MS = LATE_MS;
/** Days that are read one by one; else all at once. */
const SINGLE_DAYS = 40;
/**
 * How often one reader has all days searched in which entries may come late. In between the time is searched that has gone by since the last
 * search, and a slice before and behind it.
 */
const WHOLE_MS = 5 * 60_000;
/** How old the last search of all days may become before one that found nothing is noted. */
const NOTED_MS = 3_600_000;
/** The letters at the beginning of an id that entries of one slice of time have alike, and how long that is: 17 minutes. */
const SLICE_LETTERS = 6;
const SLICE_MS = 32 ** 4;
/** Segments that are dropped in one batch. */
const DROPPED_AT_ONCE = 32;
/** Segments in a row of which no time is known that are looked beyond: more of them stay until their own time. */
const MAX_UNDATED = 4_096;
/** Segments that are kept in memory: whole ones do not change. */
const KEPT_SEGMENTS = 2_000;
/** Trails of which it is known when they were searched. */
const KEPT_TRAILS = 1_000;

/** An entry that is found by its number. */
interface NumberedId {
  /** 1 for the first entry. */
  readonly sequence: number;
  readonly id: string;
}

// Entries are named by ids that clocks make before their batches are committed, so that one with a lower id may appear later. Readers
// that continue behind an entry need an order in which nothing appears before what was read. It is made when somebody reads: all entries
// that a strong list shows and that have no number yet get the next ones, in one step with the count of all. What is committed later gets
// a higher number, whatever its id.
//
// Which entries get the next numbers is free, as long as none gets two: one that a search does not find has its turn in a later one. So a
// trail that is asked for every few seconds is not searched as a whole each time.

interface OrderedSegment {
  readonly ids: readonly string[];
  readonly numberedAtMs: number;
}

/** Numbers the entries of an audit trail in the order in which readers may see them. */
export class AuditOrder {
  readonly #records: RecordStore;
  readonly #clock: Clock;
  readonly #entries: UnversionedType;
  /** One numbering at a time for each tenancy. */
  readonly #open = new Map<string, Promise<number>>();
  /** When a trail was searched last, and when as a whole. */
  readonly #searched = new Map<string, { readonly atMs: number; readonly wholeAtMs: number }>();
  /** The ids of whole segments. */
  readonly #whole = new Map<string, OrderedSegment>();

  constructor(records: RecordStore, clock: Clock, entries: UnversionedType) {
    this.#records = records;
    this.#clock = clock;
    this.#entries = entries;
  }

  /** The entries behind a number; those that were committed before the call are among them. */
  async behind(tenancy: Tenancy, after: number, limit: number): Promise<readonly NumberedId[]> {
    const known = Number((await this.#order(tenancy))?.value.count ?? 0n);
    const count = after + limit <= known ? known : await this.#numbered(tenancy);
    const found: NumberedId[] = [];
    let index = Math.floor(after / SEGMENT_SIZE);
    while (found.length < limit && index * SEGMENT_SIZE < count) {
      const segment = await this.#segment(tenancy, index);
      if (segment === undefined) {
        const next = await this.#nextSegment(tenancy, index);
        if (next === undefined) break;
        index = next;
        continue;
      }
      for (const [at, id] of segment.value.ids.entries()) {
        const sequence = index * SEGMENT_SIZE + at + 1;
        if (sequence > after && sequence <= count && found.length < limit) {
          found.push({ sequence, id });
        }
      }
      index += 1;
    }
    return found;
  }

  /**
   * Drops segments of which all entries are older than that: from the first one on, up to one that stays. One that was numbered by a clock
   * far ahead of this one was numbered before the one behind it, and goes with that. A damaged segment ends the work on its trail alone.
   */
  async prune(beforeMs: number, onDamaged?: OnDamagedRecord): Promise<void> {
    const aheadMs = this.#clock.wallMs() + AHEAD_MS;
    const everywhere = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
    for (const order of await this.#records.list(ORDER_KIND, everywhere, "", { onDamaged })) {
      try {
        await this.#pruneTrail(order, beforeMs, aheadMs);
      } catch (error) {
        const isDamage =
          isStorageError(error, "STORAGE_CORRUPT") || isRegistryError(error, "REGISTRY_CORRUPT");
        if (onDamaged === undefined || !isDamage) throw error;
        onDamaged(damagedIdOf(error) ?? order.resource.id, error.message);
      }
    }
  }

  async #pruneTrail(
    { value, resource }: StoredRecord<OrderMessage>,
    beforeMs: number,
    aheadMs: number,
  ): Promise<void> {
    const { tenancy } = resource.id;
    const whole = Math.floor(Number(value.count) / SEGMENT_SIZE);
    const old: BatchOperation[] = [];
    let undated: BatchOperation[] = [];
    try {
      for (let index = await this.#firstSegment(tenancy, whole); index < whole; index += 1) {
        const segment = await this.#segment(tenancy, index);
        if (segment === undefined) continue;
        const numberedAtMs = Number(segment.value.numberedAtMs);
        if (numberedAtMs > aheadMs) {
          undated.push(deleteOperation(segment));
          if (undated.length >= MAX_UNDATED) break;
          continue;
        }
        if (numberedAtMs >= beforeMs - LATE_MS) break;
        old.push(...undated, deleteOperation(segment));
        undated = [];
        while (old.length >= DROPPED_AT_ONCE) {
          await this.#records.storage.batch(old.splice(0, DROPPED_AT_ONCE));
        }
      }
    } finally {
      // Also what was found before a damaged one.
      if (old.length > 0) await this.#records.storage.batch(old);
    }
  }

  /** The first segment that was not dropped, of so many. They are dropped in their order, so it is found by halves. */
  async #firstSegment(tenancy: Tenancy, count: number): Promise<number> {
    let [dropped, there] = [-1, count];
    while (there - dropped > 1) {
      const middle = (dropped + there) >> 1;
      if ((await this.#segment(tenancy, middle)) === undefined) dropped = middle;
      else there = middle;
    }
    return there;
  }

  /** Gives numbers to all entries that have none; returns the greatest number. */
  async #numbered(tenancy: Tenancy): Promise<number> {
    const key = keyOf(tenancy);
    // One that is under way may have listed before the entry that this caller knows of.
    await this.#open.get(key)?.catch(() => undefined);
    const open = this.#open.get(key);
    if (open !== undefined) return open;
    const started = this.#number(tenancy).finally(() => this.#open.delete(key));
    this.#open.set(key, started);
    return started;
  }

  async #number(tenancy: Tenancy): Promise<number> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#tryNumber(tenancy);
      } catch (error) {
        // Another server numbers them.
        if (attempt >= MAX_ATTEMPTS || !isStorageError(error, "STORAGE_CAS_FAILURE")) throw error;
      }
    }
  }

  async #tryNumber(tenancy: Tenancy): Promise<number> {
    const nowMs = this.#clock.wallMs();
    let order = await this.#order(tenancy);
    let count = Number(order?.value.count ?? 0n);
    const lastMs = Math.min(nowMs, Number(order?.value.numberedAtMs ?? 0n));
    const key = keyOf(tenancy);
    const searched = this.#searched.get(key);
    const isWhole =
      order === undefined ||
      searched === undefined ||
      nowMs < searched.atMs ||
      nowMs - searched.wholeAtMs >= WHOLE_MS;
    const fromMs = order === undefined ? 0 : lastMs - LATE_MS;
    const sinceMs = isWhole ? fromMs : searched.atMs - SLICE_MS;
    // What is found now was numbered when it was at most so far ahead: days are searched as a whole.
    const known = await this.#recent(tenancy, count, sinceMs - AHEAD_MS - 2 * DAY_MS);
    const found = isWhole
      ? await this.#idsSince(tenancy, fromMs, nowMs)
      : await this.#idsLately(tenancy, sinceMs, nowMs + SLICE_MS);
    const fresh = found.filter((id) => !known.has(id));
    fresh.sort();
    const numberedAtMs = BigInt(nowMs);
    const before = order?.value.numberedAtMs ?? 0n;
    for (let at = 0; at < fresh.length; ) {
      const first = Math.floor(count / SEGMENT_SIZE);
      const last = await this.#segment(tenancy, first);
      const room = BATCH_SEGMENTS * SEGMENT_SIZE - (last?.value.ids.length ?? 0);
      const ids = [...(last?.value.ids ?? []), ...fresh.slice(at, at + room)];
      const segments = Array.from({ length: Math.ceil(ids.length / SEGMENT_SIZE) }, (_, index) =>
        writeOperation(
          { kind: SEGMENT_KIND, tenancy, name: segmentName(first + index) },
          {
            ids: ids.slice(index * SEGMENT_SIZE, (index + 1) * SEGMENT_SIZE),
            numberedAtMs,
          },
          index === 0 ? last : undefined,
        ),
      );
      const added = Math.min(room, fresh.length - at);
      // Until all are numbered, who comes next searches as far back as this call did: what is left would never be found. The same holds for
      // what this call did not search for.
      const isLast = isWhole && at + added === fresh.length;
      const searchedAtMs = isLast ? numberedAtMs : before;
      const value = { count: BigInt(count + added), numberedAtMs: searchedAtMs };
      const counted = writeOperation({ kind: ORDER_KIND, tenancy, name: "order" }, value, order);
      const [resource] = await this.#records.storage.batch([counted, ...segments]);
      if (resource !== undefined) order = { value, resource };
      count += added;
      at += added;
    }
    if (isWhole && order !== undefined && nowMs - Number(order.value.numberedAtMs) > NOTED_MS) {
      // Nothing new was found: without it the next search would go back as far again.
      const counted = { kind: ORDER_KIND, tenancy, name: "order" };
      const value = { count: BigInt(count), numberedAtMs };
      await this.#records.storage.batch([writeOperation(counted, value, order)]);
    }
    if (this.#searched.size >= KEPT_TRAILS) this.#searched.clear();
    this.#searched.set(key, { atMs: nowMs, wholeAtMs: isWhole ? nowMs : searched.wholeAtMs });
    return count;
  }

  /** The ids that were numbered since then. */
  async #recent(tenancy: Tenancy, count: number, sinceMs: number): Promise<ReadonlySet<string>> {
    const ids = new Set<string>();
    for (let index = Math.ceil(count / SEGMENT_SIZE) - 1; index >= 0; index -= 1) {
      const segment = await this.#ordered(tenancy, index);
      if (segment === undefined || segment.numberedAtMs < sinceMs) break;
      for (const id of segment.ids) ids.add(id);
    }
    return ids;
  }

  /** The ids of stored entries that were made between two times, and some beside them. */
  async #idsLately(tenancy: Tenancy, sinceMs: number, untilMs: number): Promise<string[]> {
    const prefixes = new Set<string>();
    for (let at = sliceOf(sinceMs); at <= sliceOf(untilMs); at += 1) {
      const [first, last] = [at * SLICE_MS, (at + 1) * SLICE_MS - 1];
      // A slice in which a day ends is in both.
      for (const ms of [first, last]) prefixes.add(`${dayOf(ms)}/${sliceText(at)}`);
    }
    const ids: string[] = [];
    for (const prefix of prefixes) {
      const { storage } = this.#records;
      const heads = listResourceHeads(storage, "strong", this.#entries, tenancy, prefix);
      for await (const { id } of heads) ids.push(id.name.slice(id.name.indexOf("/") + 1));
    }
    return ids;
  }

  /** The ids of stored entries that were made since then. */
  async #idsSince(tenancy: Tenancy, sinceMs: number, nowMs: number): Promise<string[]> {
    const [first, last] = [dayNumber(sinceMs), dayNumber(nowMs + AHEAD_MS)];
    const prefixes =
      last - first > SINGLE_DAYS
        ? [""]
        : Array.from({ length: last - first + 1 }, (_, day) => `${dayOf((first + day) * DAY_MS)}/`);
    const ids: string[] = [];
    for (const prefix of prefixes) {
      const { storage } = this.#records;
      for await (const { id } of listResourceHeads(
        storage,
        "strong",
        this.#entries,
        tenancy,
        prefix,
      )) {
        const ulid = id.name.slice(id.name.indexOf("/") + 1);
        const day = dayNumber(ulidTime(ulid));
        if (day >= first && day <= last) ids.push(ulid);
      }
    }
    return ids;
  }

  async #nextSegment(tenancy: Tenancy, after: number): Promise<number | undefined> {
    const { storage } = this.#records;
    let next: number | undefined;
    const heads = listResourceHeads(storage, "strong", SEGMENT_KIND.type, tenancy, "");
    for await (const { id } of heads) {
      const index = Number.parseInt(id.name, 16);
      if (index > after && (next === undefined || index < next)) next = index;
    }
    return next;
  }

  async #order(tenancy: Tenancy): Promise<StoredRecord<OrderMessage> | undefined> {
    return this.#records.read({ kind: ORDER_KIND, tenancy, name: "order" });
  }

  /** A segment, from memory where it does not change any more. */
  async #ordered(tenancy: Tenancy, index: number): Promise<OrderedSegment | undefined> {
    const key = `${keyOf(tenancy)}\0${index}`;
    const known = this.#whole.get(key);
    if (known !== undefined) return known;
    const segment = await this.#segment(tenancy, index);
    if (segment === undefined) return undefined;
    const { ids, numberedAtMs } = segment.value;
    const ordered = { ids, numberedAtMs: Number(numberedAtMs) };
    if (ids.length === SEGMENT_SIZE) {
      if (this.#whole.size >= KEPT_SEGMENTS) this.#whole.clear();
      this.#whole.set(key, ordered);
    }
    return ordered;
  }

  async #segment(tenancy: Tenancy, index: number): Promise<StoredRecord<AuditSegment> | undefined> {
    return this.#records.read({ kind: SEGMENT_KIND, tenancy, name: segmentName(index) });
  }
}

/** The record that an error of the store is about. */
function damagedIdOf(error: unknown): ResourceId | undefined {
  return isStorageError(error) ? error.details.id : undefined;
}

function keyOf({ partition, namespace }: Tenancy): string {
  return `${partition}\0${namespace}`;
}

/** Slices since 1970. */
function sliceOf(timeMs: number): number {
  return Math.floor(Math.max(0, timeMs) / SLICE_MS);
}

/** How the ids of a slice begin. */
function sliceText(slice: number): string {
  return createUlidGenerator({ wallMs: () => slice * SLICE_MS })().slice(0, SLICE_LETTERS);
}

function segmentName(index: number): string {
  return index.toString(16).padStart(12, "0");
}

/** The day of a time as names have it, `YYYY-MM-DD`. */
export function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

/** Days since 1970. */
function dayNumber(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS);
}
