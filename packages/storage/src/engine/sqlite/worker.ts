import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { StorageError } from "../../errors.ts";
import { backupTo } from "./backup-copy.ts";
import { damagedRow, describeDamage, locateRow } from "./damage.ts";
import { GroupWriter, readOldestMs } from "./group-writer.ts";
import { openForReading, openForWriting, openReader } from "./open-database.ts";
import { PagedLists } from "./paged-lists.ts";
import type {
  BodyRow,
  CallMessage,
  ChangePage,
  ErrorMessage,
  WorkerCall,
  WorkerCalls,
  WorkerMessage,
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

// Entry of the worker thread: everything that touches the file happens here, one call after the
// other, so that the calling thread never waits for the disk. Answers leave in the order of the
// calls (but for `backup`, which runs beside them): an answer to a read that was asked for after a
// write never overtakes the answer to the write.

type Handlers = {
  [C in WorkerCall]: (
    argument: WorkerCalls[C]["argument"],
  ) => WorkerCalls[C]["result"] | Promise<WorkerCalls[C]["result"]>;
};

const port = parentPort;
if (port === null) throw new Error("the sqlite storage worker is not a program");
const send = (message: WorkerMessage): void => port.postMessage(message);

try {
  const { handlers, epoch, notices } = open(workerData as WorkerOptions);
  port.on("message", (message: CallMessage) => void answer(handlers, message));
  send({ kind: "open", epoch, notices });
} catch (error) {
  send({ kind: "failed", error: toErrorMessage(error) });
}

async function answer(handlers: Handlers, message: CallMessage): Promise<void> {
  const [id, call, argument] = message;
  try {
    // The table gives every call its own argument type; the sender keeps to it.
    const handler = handlers[call] as (argument: unknown) => unknown;
    const result = handler(argument);
    send([id, result instanceof Promise ? await result : result]);
  } catch (error) {
    send([id, undefined, toErrorMessage(error)]);
  }
  if (call === "close") port?.close();
}

interface Opened {
  readonly handlers: Handlers;
  readonly epoch: string;
  readonly notices: readonly string[];
}

function open(options: WorkerOptions): Opened {
  if (options.readOnly) {
    const database = openForReading(options.directory);
    const { epoch } = readChanges(database, undefined, 0);
    return { handlers: readHandlers(options, database).handlers, epoch, notices: [] };
  }
  prepareDirectory(options.directory);
  const lock = acquireWriterLock(options.directory);
  try {
    const { database, notices } = openForWriting(options.directory, options.integrity);
    const { epoch } = readChanges(database, undefined, 0);
    return { handlers: writeHandlers(options, database, lock), epoch, notices };
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
  const writer = new GroupWriter(database, options.history);
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
      // Before the log is reset, which waits for views that are open.
      endViews();
      markClean(database, databasePath(options.directory));
      await reads.close(undefined);
      lock[Symbol.dispose]();
      return undefined;
    },
  };
}

/** Leaves one file behind, and a note that nothing is to be recovered. */
function markClean(database: DatabaseSync, path: string): void {
  try {
    endLineUse(database, path);
    database.exec("UPDATE store SET clean = 1");
    // With a reader still at work the log stays, which is as good.
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // On a full disk, say. Everything acknowledged is in the log; the next open looks more closely.
  }
}

function toErrorMessage(error: unknown): ErrorMessage {
  const path = databasePath((workerData as WorkerOptions).directory);
  const described = describeDamage(error, path, { outcome: "not-applied" });
  const { code, message, details } = StorageError.from(described, { outcome: "not-applied" });
  return { code, message, details };
}
