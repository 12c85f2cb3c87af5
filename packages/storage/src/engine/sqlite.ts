import { resolve } from "node:path";
import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import {
  DEFAULT_LIMITS,
  MAX_BATCH_OPERATIONS,
  MAX_GUARDS,
  type StorageCapabilities,
} from "../capabilities.ts";
import { ageCheckMs, type HistoryOptions, resolveHistory } from "../feed/history-options.ts";
import { resolveWatchBuffer, type WatchBufferOptions } from "../feed/watch-stream.ts";
import type { IntegrityCheck, WorkerOptions } from "./sqlite/protocol.ts";
import { SqliteEngine } from "./sqlite/sqlite-engine.ts";
import { SqliteBackend, type SqliteStorage } from "./sqlite/sqlite-storage.ts";
import { databaseBytes } from "./sqlite/store-directory.ts";
import { WorkerClient } from "./sqlite/worker-client.ts";

export { readSqliteLayout } from "./sqlite/read-layout.ts";
export type { SqliteStorage } from "./sqlite/sqlite-storage.ts";

/** Options of {@link createSqliteStorage}. */
export interface SqliteStorageOptions {
  /**
   * Directory of the store, made with mode 0700 when it does not exist. It belongs to the store:
   * the database, its log and the writer's lock are in it.
   */
  readonly directory: string;
  /**
   * Opens an existing store for reading, also while another process writes to it. Watches see that
   * process's commits by polling.
   *
   * @default false
   */
  readonly readOnly?: boolean;
  /**
   * Works in the calling thread, which spares the start of a thread of its own: for programs that end soon and have nothing
   * else to do meanwhile. The thread waits for the disk with each commit; concurrent writes share commits as they do
   * otherwise. A store for writing whose database is larger than 64 MiB with its log has its own thread all the same, because its
   * check after a crash takes long.
   *
   * @default false
   */
  readonly inline?: boolean;
  /**
   * How thoroughly the file is checked at open: `full` reads every row and index, `quick` the
   * structure, `auto` is `full` after a writer that did not close in order and `quick` otherwise.
   *
   * @default "auto"
   */
  readonly integrity?: IntegrityCheck;
  /**
   * How much history is kept for watches that resume, from now on and by all writers that are given none. A longest age holds while an
   * instance that is given it is open.
   *
   * @default what the store keeps, at first 16,384 commits, 64 MiB of bodies
   */
  readonly history?: HistoryOptions;
  /** How much a watch holds back for a slow consumer. */
  readonly watchBuffer?: WatchBufferOptions;
  /** How often a read-only instance with watches looks for new commits. @default 100 */
  readonly pollMs?: number;
  /**
   * How long a snapshot, list or watch may pause between two pages. Its view of the store keeps
   * disk space from being used again.
   *
   * @default 60,000
   */
  readonly scanIdleMs?: number;
  readonly logger?: Logger;
  /** Dates commits, and runs the timer that forgets old ones. @default the clock of the process */
  readonly clock?: Clock;
}

/** The largest database that is written to in the calling thread. */
const MAX_INLINE_BYTES = 64 * 1024 * 1024;

/** What the sqlite engine offers. */
export const SQLITE_CAPABILITIES: StorageCapabilities = Object.freeze({
  engine: "sqlite",
  durability: "os",
  shared: false,
  strongList: true,
  pagedList: true,
  guards: MAX_GUARDS,
  batch: MAX_BATCH_OPERATIONS,
  endOfSnapshot: true,
  resume: true,
  snapshot: true,
  restore: true,
  limits: DEFAULT_LIMITS,
});

/**
 * Opens a store in an SQLite database, in a thread of its own unless `inline` is asked for. One process at a time writes to it.
 *
 * Acknowledged writes survive the loss of power: the write-ahead log is synced for each group of
 * concurrent writes. Everything is linearizable, `eventual` reads too.
 *
 * Rejects with `STORAGE_LOCKED` (details: who writes to it), `STORAGE_CORRUPT`, `STORAGE_SCHEMA`, or
 * `STORAGE_INVALID_ARGUMENT` for a directory that cannot be used.
 */
export async function createSqliteStorage(options: SqliteStorageOptions): Promise<SqliteStorage> {
  const { clock = systemClock } = options;
  const history = options.history === undefined ? undefined : resolveHistory(options.history);
  const workerOptions: WorkerOptions = {
    directory: resolve(options.directory),
    readOnly: options.readOnly ?? false,
    integrity: options.integrity ?? "auto",
    history,
    cursorIdleMs: options.scanIdleMs ?? 60_000,
  };
  const { directory, readOnly } = workerOptions;
  const isInline =
    options.inline === true && (readOnly || databaseBytes(directory) <= MAX_INLINE_BYTES);
  const { client, epoch, notices } = isInline
    ? (await import("./sqlite/inline-client.ts")).InlineClient.open(workerOptions)
    : await WorkerClient.start(workerOptions);
  const engine = new SqliteEngine({
    client,
    epoch,
    capabilities: SQLITE_CAPABILITIES,
    watchBuffer: resolveWatchBuffer(options.watchBuffer),
    pollMs: readOnly ? (options.pollMs ?? 100) : undefined,
    clock,
    // Readers leave the history to the writer.
    ageCheckMs:
      readOnly || history?.maxAgeMs === undefined ? undefined : ageCheckMs(history.maxAgeMs),
    logger: options.logger,
  });
  for (const notice of notices) options.logger?.warn({ directory, notice }, "store recovered");
  return new SqliteBackend(engine);
}
