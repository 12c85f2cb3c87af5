import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { StorageError } from "../../errors.ts";
import { AgeTimer } from "../../feed/age-timer.ts";
import {
  ageCheckMs,
  type HistorySize,
  type ResolvedHistory,
  resolveHistory,
} from "../../feed/history-options.ts";
import type { Connections } from "./connections.ts";
import { readHistoryBounds } from "./history-bounds.ts";

/** How many events, and bytes of them beside a first one, go at a time: what a statement can do in its time. */
const BATCH = 2_000;
const BATCH_BYTES = 256 * 1024 * 1024;

/** What a {@link HistoryKeeper} is made of. */
interface HistoryKeeperParts {
  readonly connections: Connections;
  /** Those that this instance was given, and has kept in the store. @default those that others kept there */
  readonly bounds: ResolvedHistory | undefined;
  /** Runs the timer alone: how old commits are is said by the server, whose clock all instances share. */
  readonly clock: Clock;
  readonly logger: Logger | undefined;
  /** Brings the watches of this instance up to date, and gives how far that is. */
  readonly before: () => Promise<number>;
}

/**
 * Forgets history beyond the bounds of the store while this instance writes: at its first commit, as most processes
 * are short and leave their history to the next one, and then whenever it has added a part of what is
 * kept; with a longest age also at its beginning and by a timer. Several instances may do so at once;
 * the server lets one of them.
 */
export class HistoryKeeper {
  readonly #connections: Connections;
  readonly #logger: Logger | undefined;
  readonly #before: () => Promise<number>;
  #everyEvents = 0;
  #everyBytes = 0;
  /** What this instance has added since its last check. */
  #events = Number.POSITIVE_INFINITY;
  #bytes = 0;
  #running: Promise<void> | undefined;
  readonly #ages: AgeTimer | undefined;
  #isStopping = false;

  constructor({ connections, bounds, clock, logger, before }: HistoryKeeperParts) {
    this.#connections = connections;
    this.#before = before;
    this.#logger = logger;
    this.#checkWithin(resolveHistory(bounds));
    if (bounds?.maxAgeMs !== undefined) {
      this.#ages = new AgeTimer(clock, ageCheckMs(bounds.maxAgeMs), async () =>
        this.#compactNow(async () => this.#redate()),
      );
    }
  }

  /** Counts a transaction of this instance. */
  committed(written: { readonly events: number; readonly bytes: number }): void {
    this.#events += written.events;
    this.#bytes += written.bytes;
    const isDue = this.#events >= this.#everyEvents || this.#bytes >= this.#everyBytes;
    if (isDue) void this.#compactNow();
  }

  /** Compacts unless that is under way. Never rejects. */
  #compactNow(before?: () => Promise<void>): Promise<void> {
    if (this.#running !== undefined) return this.#running;
    this.#events = 0;
    this.#bytes = 0;
    const work = async (): Promise<void> => {
      await before?.();
      await this.compact();
    };
    this.#running = work()
      .catch((error: unknown) => {
        const { message } = StorageError.from(error);
        this.#logger?.warn({ message }, "history could not be compacted");
      })
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  /** How much there is, commits among it that are not on disk yet: nothing depends on it. */
  async size(): Promise<HistorySize> {
    const [row] = await this.#connections.run(
      "read",
      (sql) => sql`
        SELECT s.revision - s.compacted AS events, s.written - coalesce((
          SELECT e.written - octet_length(e.body) FROM event e ORDER BY e.revision LIMIT 1
        ), s.written) AS bytes, (
          SELECT (extract(epoch FROM e.at) * 1000)::float8 FROM event e ORDER BY e.revision LIMIT 1
        ) AS oldest FROM store s`,
    );
    const size = { events: Number(row?.events ?? 0), bytes: Number(row?.bytes ?? 0) };
    const oldest = row?.oldest as number | null | undefined;
    return typeof oldest === "number" ? { ...size, oldestMs: Math.floor(oldest) } : size;
  }

  #checkWithin({ events, bytes }: ResolvedHistory): void {
    this.#everyEvents = Math.max(1, Math.min(1_000, Math.ceil(events / 4)));
    this.#everyBytes = Math.max(1, bytes / 4);
  }

  /** Forgets what is beyond the bounds of the store, which another instance may have changed since the last time. */
  async compact(): Promise<void> {
    const last = await this.#before();
    const bounds = await readHistoryBounds(this.#connections);
    this.#checkWithin(bounds);
    const { events, bytes, maxAgeMs = null } = bounds;
    let limit: number;
    let deleted: number;
    do {
      limit = await this.#batch();
      const [row] = await this.#connections.run(
        "write",
        (sql) => sql`
          SELECT compact_history(${events}, ${bytes}, ${last}, ${limit}, ${maxAgeMs}::bigint) AS deleted`,
      );
      deleted = Number(row?.deleted ?? 0);
    } while (!this.#isStopping && deleted > 0 && deleted === limit);
  }

  /** Dates anew what a clock that was ahead has dated, wherever it is in the history. */
  async #redate(): Promise<void> {
    let dated: number;
    do {
      const [row] = await this.#connections.run(
        "write",
        (sql) => sql`SELECT redate_events(${BATCH}) AS dated`,
      );
      dated = Number(row?.dated ?? 0);
    } while (!this.#isStopping && dated >= BATCH);
  }

  /** How many of the oldest events a statement can delete in its time. */
  async #batch(): Promise<number> {
    const [row] = await this.#connections.run(
      "read",
      (sql) => sql`
        SELECT count(*) AS fitting FROM (
          SELECT written - first_value(written) OVER (ORDER BY revision) AS behind
          FROM (SELECT revision, written FROM event ORDER BY revision LIMIT ${BATCH}) oldest
        ) e WHERE e.behind <= ${BATCH_BYTES}`,
    );
    return Number(row?.fitting ?? 0);
  }

  /** Ends the timer; resolves when nothing is under way. What is left of many batches is for the next instance. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#ages?.[Symbol.dispose]();
    await this.#running;
  }
}
