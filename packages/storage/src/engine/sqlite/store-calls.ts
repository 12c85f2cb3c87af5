import type { DatabaseSync } from "node:sqlite";
import { StorageError } from "../../errors.ts";
import { backupTo } from "./backup-copy.ts";
import { damagedRow, describeDamage, locateRow } from "./damage.ts";
import { describeFullDisk } from "./full-disk.ts";
import { GroupWriter, readOldestMs } from "./group-writer.ts";
import { readHistoryBounds, settleHistoryBounds } from "./history-bounds.ts";
import { openForReading, openForWriting, openReader } from "./open-database.ts";
import { PagedLists } from "./paged-lists.ts";
import type {
  BodyRow,
  ChangePage,
  ErrorMessage,
  WorkerCall,
  WorkerCalls,
  WorkerOptions,
} from "./protocol.ts";
import { readChanges } from "./read-changes.ts";
import { readCommits } from "./read-commits.ts";
import { Readers } from "./readers.ts";
import { Restores } from "./restores.ts";
import { Scans } from "./scans.ts";
import { DATED_LAYOUT, pragmaNumber } from "./schema.ts";
import { databasePath, prepareDirectory } from "./store-directory.ts";
import { endLineUse } from "./store-line.ts";
import { acquireWriterLock } from "./writer-lock.ts";

/** What is done for each call, in the thread that has the file. */
type Handlers = {
  [C in WorkerCall]: (
    argument: WorkerCalls[C]["argument"],
  ) => WorkerCalls[C]["result"] | Promise<WorkerCalls[C]["result"]>;
};

/** An open store, and what was found in it. */
interface OpenedCalls {
  readonly handlers: Handlers;
  readonly epoch: string;
  readonly notices: readonly string[];
}

/** Opens a store in this thread. Whoever calls takes its answers in the order of the calls. */
export function openStoreCalls(options: WorkerOptions): OpenedCalls {
  if (options.readOnly) {
    const database = openForReading(options.directory);
    try {
      const { epoch } = readChanges(database, undefined, 0);
      return { handlers: readHandlers(options, database).handlers, epoch, notices: [] };
    } catch (error) {
      database.close();
      throw error;
    }
  }
  prepareDirectory(options.directory);
  const lock = acquireWriterLock(options.directory);
  try {
    const { database, notices } = openForWriting(options.directory, options.integrity);
    try {
      const { epoch } = readChanges(database, undefined, 0);
      return { handlers: writeHandlers(options, database, lock), epoch, notices };
    } catch (error) {
      // Its thread may be that of the caller, and goes on.
      database.close();
      throw error;
    }
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

interface Reading {
  readonly handlers: Handlers;
  /** Ends all views of the store, each of which holds back the log. */
  readonly endViews: () => void;
}

function readHandlers(options: WorkerOptions, database: DatabaseSync): Reading {
  const row = database.prepare("SELECT version, body, checksum FROM resource WHERE key = ?");
  const epoch = database.prepare("SELECT epoch FROM store");
  const history = database.prepare(
    "SELECT count(*) AS events, total(length(body)) AS bytes FROM event",
  );
  // A reader may be beside a writer of a release before the times.
  const isDated = pragmaNumber(database, "user_version") >= DATED_LAYOUT;
  const readers = new Readers(() => openReader(options.directory));
  const scans = new Scans(readers, options.cursorIdleMs);
  const lists = new PagedLists(readers, options.cursorIdleMs);
  const expiry = setInterval(() => scans.expire(), Math.max(100, options.cursorIdleMs / 4));
  expiry.unref();
  const refuse = (): never => {
    throw new StorageError("STORAGE_READ_ONLY");
  };
  const endViews = (): void => {
    scans.endAll();
    lists.endAll();
  };
  const handlers: Handlers = {
    read: (key) => row.get(Buffer.from(key)) as BodyRow | undefined,
    scan: (target) => scans.start(target),
    page: (id) => scans.page(id),
    endScan: (id) => {
      scans.end(id);
      return undefined;
    },
    listPage: (request) =>
      lists.page(request, String(epoch.get()?.epoch), (row) =>
        damagedRow(databasePath(options.directory), locateRow(database, row)),
      ),
    reportDamage: (row) => {
      throw damagedRow(databasePath(options.directory), locateRow(database, row));
    },
    historySize: () => {
      const size = history.get();
      const counted = { events: Number(size?.events), bytes: Number(size?.bytes) };
      const oldestMs = isDated ? readOldestMs(database) : undefined;
      return oldestMs === undefined ? counted : { ...counted, oldestMs };
    },
    historyBounds: () => readHistoryBounds(database),
    changes: ({ after, limit }): ChangePage => readChanges(database, after, limit),
    commits: (after) => readCommits(database, after, isDated),
    close: () => {
      clearInterval(expiry);
      endViews();
      readers.close();
      database.close();
      return undefined;
    },
    write: refuse,
    stage: refuse,
    commitRestore: refuse,
    abortRestore: refuse,
    compact: refuse,
    expire: refuse,
    backup: refuse,
  };
  return { handlers, endViews };
}

function writeHandlers(options: WorkerOptions, database: DatabaseSync, lock: Disposable): Handlers {
  const writer = new GroupWriter(database, settleHistoryBounds(database, options.history));
  const restores = new Restores(database, writer);
  const { handlers: reads, endViews } = readHandlers(options, database);
  const backups = new Set<Promise<undefined>>();
  return {
    ...reads,
    historySize: () => writer.history,
    write: ([nowMs, requests]) => writer.write(nowMs, requests),
    stage: ({ restore, rows }) => {
      restores.stage(restore, rows);
      return undefined;
    },
    commitRestore: (restore) => ({ epoch: restores.commit(restore) }),
    abortRestore: (restore) => {
      restores.abort(restore);
      return undefined;
    },
    compact: ({ keep }) => {
      writer.compact(keep);
      return undefined;
    },
    expire: (nowMs) => {
      writer.expire(nowMs);
      return undefined;
    },
    backup: async (path) => {
      const running = backupTo(database, path).then(() => undefined);
      backups.add(running);
      try {
        return await running;
      } finally {
        backups.delete(running);
      }
    },
    close: async () => {
      await Promise.allSettled(backups);
      using _ = lock;
      // Before the log is reset, which views that are open keep from it.
      endViews();
      markClean(database, databasePath(options.directory));
      await reads.close(undefined);
      return undefined;
    },
  };
}

/** Leaves one file behind, and a note that nothing is to be recovered. */
function markClean(database: DatabaseSync, path: string): void {
  try {
    endLineUse(database, path);
    // With a reader still at work the log stays, which is as good: it is not waited for.
    database.exec("PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // On a full disk, say. Everything acknowledged is in the log; the next open looks more closely.
  }
}

/** An error of a call, as it is sent to another thread. */
export function toErrorMessage(error: unknown, { directory }: WorkerOptions): ErrorMessage {
  const path = databasePath(directory);
  const damage = describeDamage(error, path, { outcome: "not-applied" });
  const described = describeFullDisk(damage, directory);
  const { code, message, details } = StorageError.from(described, { outcome: "not-applied" });
  return { code, message, details };
}
