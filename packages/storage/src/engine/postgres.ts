import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import {
  DEFAULT_LIMITS,
  MAX_BATCH_OPERATIONS,
  MAX_GUARDS,
  type StorageCapabilities,
} from "../capabilities.ts";
import { type HistoryOptions, resolveHistory } from "../feed/history-options.ts";
import { resolveWatchBuffer, type WatchBufferOptions } from "../feed/watch-stream.ts";
import type { StoreLayout } from "../store-layout.ts";
import {
  type ConnectionOptions,
  Connections,
  resolveConnectionOptions,
} from "./postgres/connections.ts";
import { keepHistoryBounds } from "./postgres/history-bounds.ts";
import { prepareDatabase, readLayout } from "./postgres/migrate.ts";
import { PostgresEngine } from "./postgres/postgres-engine.ts";
import { PostgresBackend, type PostgresStorage } from "./postgres/postgres-storage.ts";

export type { ConnectionOptions } from "./postgres/connections.ts";
export type { PostgresStorage } from "./postgres/postgres-storage.ts";

/** Options of {@link createPostgresStorage}. */
export interface PostgresStorageOptions extends ConnectionOptions {
  /**
   * Whether an open brings the tables to the newest layout. Without it they have to be there, and
   * the user needs no right to create any.
   *
   * @default true
   */
  readonly migrate?: boolean;
  /**
   * How much history is kept for watches that resume, from now on and by all instances, of which the last that is given any decides. A
   * longest age holds while an instance that is given it is open.
   *
   * @default what the store keeps, at first 16,384 commits, 64 MiB of bodies
   */
  readonly history?: HistoryOptions;
  /** How much a watch holds back for a slow consumer. */
  readonly watchBuffer?: WatchBufferOptions;
  /**
   * How often an instance with watches polls for commits without a notification. Instances notify
   * each other, but notifications can get lost.
   *
   * @default 500
   */
  readonly pollMs?: number;
  readonly logger?: Logger;
  /** Runs the timer that forgets old history. @default the clock of the process */
  readonly clock?: Clock;
}

/** What the PostgreSQL engine offers. */
export const POSTGRES_CAPABILITIES: StorageCapabilities = Object.freeze({
  engine: "postgres",
  durability: "os",
  shared: true,
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
 * Opens a store in a PostgreSQL database, 15 or newer. Any number of instances in any number of
 * processes may work on one store.
 *
 * Everything is linearizable, `eventual` reads too, as all of it goes to the primary. Watches get
 * commits in commit order without holes and resume after a lost connection; they close when another
 * server becomes the primary, because that one may not have the last commits.
 *
 * Rejects with `STORAGE_SCHEMA`, `STORAGE_INVALID_ARGUMENT`, `STORAGE_PERMISSION_DENIED`, or
 * `STORAGE_INCONSISTENT` when the server cannot be reached.
 */
export async function createPostgresStorage(
  options: PostgresStorageOptions,
): Promise<PostgresStorage> {
  const history = options.history === undefined ? undefined : resolveHistory(options.history);
  const connections = new Connections(resolveConnectionOptions(options));
  try {
    const { fsync } = await prepareDatabase(connections, options.migrate ?? true);
    if (!fsync) options.logger?.warn({}, "the server has fsync off: a crash can lose the store");
    if (history !== undefined) await keepHistoryBounds(connections, history);
  } catch (error) {
    await connections.close();
    throw error;
  }
  const engine = new PostgresEngine({
    connections,
    capabilities: POSTGRES_CAPABILITIES,
    watchBuffer: resolveWatchBuffer(options.watchBuffer),
    history,
    clock: options.clock ?? systemClock,
    pollMs: options.pollMs ?? 500,
    logger: options.logger,
  });
  return new PostgresBackend(engine);
}

/**
 * The layout of the tables of a store, of which there may be none yet. Changes nothing. Rejects as {@link createPostgresStorage} does;
 * `STORAGE_SCHEMA` also where a newer release made the tables.
 */
export async function readPostgresLayout(options: ConnectionOptions): Promise<StoreLayout> {
  const connections = new Connections(resolveConnectionOptions(options));
  try {
    return await readLayout(connections);
  } finally {
    await connections.close();
  }
}
