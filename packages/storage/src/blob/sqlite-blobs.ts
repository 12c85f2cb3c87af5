import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { extname, join, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { acquireWriterLock } from "../engine/sqlite/writer-lock.ts";
import { StorageError } from "../errors.ts";
import { makeDirectory } from "../make-directory.ts";
import type { BlobChunk, BlobEngine, BlobHead, BlobUpload } from "./blob-engine.ts";
import { type BlobStoreOptions, ChunkedBlobStore } from "./blob-store.ts";
import { quotaExceeded } from "./checks.ts";
import type { BlobStatement, BlobWorkerAnswer, BlobWorkerRequest } from "./sqlite-blob-worker.ts";
import type { BlobCapabilities, BlobStore } from "./types.ts";

/** Options of {@link createSqliteBlobs}. */
export interface SqliteBlobsOptions extends BlobStoreOptions {
  /** Made with mode 0700 when it does not exist. It belongs to the blobs. */
  readonly directory: string;
}

/**
 * A blob store in an SQLite database, in a thread of its own, for one process at a time
 * (`STORAGE_LOCKED` otherwise). What was written survives the loss of power.
 */
export async function createSqliteBlobs(options: SqliteBlobsOptions): Promise<BlobStore> {
  const directory = resolve(options.directory);
  makeDirectory(directory);
  const lock = acquireWriterLock(directory);
  // The worker has the extension of this file: TypeScript in the workspace, JavaScript published.
  const entry = new URL(`./sqlite-blob-worker${extname(import.meta.url)}`, import.meta.url);
  const worker = new Worker(entry, {
    workerData: join(directory, "blobs.db"),
    name: "stackwright-blobs",
  });
  return new ChunkedBlobStore(new SqliteBlobEngine(worker, lock), options);
}

interface HeadRow {
  readonly sha256: string;
  readonly size: number;
  readonly chunk_bytes: number;
  readonly content: string;
}

type Rows = readonly Record<string, unknown>[];

interface Waiting {
  readonly resolve: (rows: readonly Rows[]) => void;
  readonly reject: (error: Error) => void;
}

/** Chunks from this size on are given to the thread. Smaller buffers may share their memory with others. */
const GIVEN_BYTES = 64 * 1024;

const HEAD = "sha256, size, chunk_bytes, content";
const USED_BY_OWNER = "(SELECT coalesce(sum(size), 0) FROM claim WHERE owner = ?)";
/** Without an owner, or with one that the blob counts against. */
const MAY_EXIST = "(? IS NULL OR EXISTS (SELECT 1 FROM claim WHERE owner = ? AND sha256 = ?))";

class SqliteBlobEngine implements BlobEngine {
  readonly capabilities: BlobCapabilities = { engine: "sqlite", durability: "os", shared: false };
  readonly #worker: Worker;
  readonly #lock: Disposable;
  readonly #waiting = new Map<number, Waiting>();
  #requests = 0;
  #lost: StorageError | undefined;

  constructor(worker: Worker, lock: Disposable) {
    this.#worker = worker;
    this.#lock = lock;
    worker.on("message", (answer: BlobWorkerAnswer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (answer.rows !== undefined) waiting?.resolve(answer.rows);
      else waiting?.reject(toStorageError(answer.error));
    });
    worker.on("error", (error) => this.#lose(error));
    worker.on("exit", () => this.#lose(new Error("the thread has ended")));
  }

  async now(): Promise<number> {
    return Date.now();
  }

  async begin(): Promise<BlobUpload> {
    const content = randomUUID();
    await this.#run({ sql: "INSERT INTO upload VALUES (?, ?)", values: [content, Date.now()] });
    const isActive = "EXISTS (SELECT 1 FROM upload WHERE content = ?)";
    return {
      append: async (position, { sha256, bytes }) => {
        const [, inserted] = await this.#run(
          {
            sql: "UPDATE upload SET active_at = ? WHERE content = ?",
            values: [Date.now(), content],
          },
          {
            sql: `INSERT INTO chunk SELECT ?, ?, ?, ? WHERE ${isActive} RETURNING position`,
            values: [content, position, sha256, bytes, content],
          },
        );
        if (inserted?.length === 0) throw uploadLost();
      },
      finish: async (blob, holdMs, charge) => {
        const owner = charge?.owner ?? null;
        const [, usage, finished] = await this.#run(
          // A blob that the owner has already counts once; otherwise it has to fit into the quota.
          {
            sql: `INSERT INTO claim SELECT ?, ?, ? WHERE ? IS NOT NULL AND ${isActive} AND
                ${USED_BY_OWNER} + ? <= ?
              ON CONFLICT (owner, sha256) DO NOTHING`,
            values: [
              owner,
              blob.sha256,
              blob.size,
              owner,
              content,
              owner,
              blob.size,
              charge?.quotaBytes ?? Number.MAX_SAFE_INTEGER,
            ],
          },
          {
            sql: `SELECT ${USED_BY_OWNER} AS used, ${isActive} AS active, ${MAY_EXIST} AS fits`,
            values: [owner, content, owner, owner, blob.sha256],
          },
          {
            sql: `INSERT INTO blob SELECT ?, ?, ?, ?, ? WHERE ${isActive} AND ${MAY_EXIST}
              ON CONFLICT (sha256) DO UPDATE SET held_until = max(held_until, excluded.held_until)
              RETURNING content`,
            values: [
              blob.sha256,
              blob.size,
              blob.chunkBytes,
              content,
              Date.now() + holdMs,
              content,
              owner,
              owner,
              blob.sha256,
            ],
          },
          { sql: "DELETE FROM upload WHERE content = ?", values: [content] },
          {
            sql: `DELETE FROM chunk
              WHERE content = ? AND NOT EXISTS (SELECT 1 FROM blob WHERE content = ?)`,
            values: [content, content],
          },
        );
        const { used, active, fits } = usage?.[0] ?? {};
        if (charge !== undefined && active === 1 && fits === 0) {
          throw quotaExceeded(charge, Number(used), blob.size);
        }
        if (finished?.length === 0) throw uploadLost();
      },
      abort: async () => {
        await this.#run(
          { sql: "DELETE FROM upload WHERE content = ?", values: [content] },
          { sql: "DELETE FROM chunk WHERE content = ?", values: [content] },
        );
      },
    };
  }

  async head(sha256: string): Promise<BlobHead | undefined> {
    const [rows] = await this.#run({
      sql: `SELECT ${HEAD} FROM blob WHERE sha256 = ?`,
      values: [sha256],
    });
    return toHeads(rows).at(0);
  }

  async hold(sha256: readonly string[], holdMs: number): Promise<readonly BlobHead[]> {
    const until = Date.now() + holdMs;
    const found = await this.#run(
      ...sha256.map((digest) => ({
        sql: `UPDATE blob SET held_until = max(held_until, ?) WHERE sha256 = ? RETURNING ${HEAD}`,
        values: [until, digest],
      })),
    );
    return found.flatMap(toHeads);
  }

  async chunk(blob: BlobHead, position: number): Promise<BlobChunk | undefined> {
    const [rows] = await this.#run({
      sql: "SELECT sha256, bytes FROM chunk WHERE content = ? AND position = ?",
      values: [blob.content, position],
    });
    return rows?.[0] as BlobChunk | undefined;
  }

  async owners(sha256: string): Promise<readonly string[]> {
    const [rows = []] = await this.#run({
      sql: "SELECT owner FROM claim WHERE sha256 = ? ORDER BY owner",
      values: [sha256],
    });
    return rows.map((row) => String(row.owner));
  }

  async expired(before: number, after: string, limit: number): Promise<readonly string[]> {
    const [rows = []] = await this.#run({
      sql: "SELECT sha256 FROM blob WHERE held_until < ? AND sha256 > ? ORDER BY sha256 LIMIT ?",
      values: [before, after, limit],
    });
    return rows.map((row) => String(row.sha256));
  }

  async remove(sha256: string, before: number): Promise<boolean> {
    const [, , removed] = await this.#run(
      {
        sql: `DELETE FROM chunk WHERE content IN
          (SELECT content FROM blob WHERE sha256 = ? AND held_until < ?)`,
        values: [sha256, before],
      },
      {
        sql: `DELETE FROM claim WHERE sha256 IN
          (SELECT sha256 FROM blob WHERE sha256 = ? AND held_until < ?)`,
        values: [sha256, before],
      },
      {
        sql: "DELETE FROM blob WHERE sha256 = ? AND held_until < ? RETURNING sha256",
        values: [sha256, before],
      },
    );
    return removed?.length === 1;
  }

  async removeUploads(before: number): Promise<number> {
    const [, removed = []] = await this.#run(
      {
        sql: "DELETE FROM chunk WHERE content IN (SELECT content FROM upload WHERE active_at < ?)",
        values: [before],
      },
      { sql: "DELETE FROM upload WHERE active_at < ? RETURNING content", values: [before] },
    );
    return removed.length;
  }

  async close(): Promise<void> {
    if (this.#lost === undefined) {
      this.#lost = new StorageError("STORAGE_INCONSISTENT", "the blob store is closed");
      const exited = once(this.#worker, "exit");
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#worker.postMessage("close");
      await exited;
    }
    this.#lock[Symbol.dispose]();
  }

  /** Runs statements as one transaction. */
  #run(...statements: readonly BlobStatement[]): Promise<readonly Rows[]> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    this.#requests += 1;
    const request: BlobWorkerRequest = { id: this.#requests, statements };
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#worker.postMessage(request, statements.flatMap(ownBuffers));
    });
  }

  #lose(cause: Error): void {
    this.#lost ??= new StorageError("STORAGE_INCONSISTENT", "the blob store's thread is gone", {
      cause,
    });
    for (const waiting of this.#waiting.values()) waiting.reject(this.#lost);
    this.#waiting.clear();
  }
}

function toHeads(rows: Rows | undefined): readonly BlobHead[] {
  return (rows ?? []).map((row) => {
    const { sha256, size, chunk_bytes: chunkBytes, content } = row as unknown as HeadRow;
    return { sha256, size, chunkBytes, content };
  });
}

function toStorageError(error: BlobWorkerAnswer["error"]): StorageError {
  return new StorageError(error?.code ?? "STORAGE_INCONSISTENT", error?.message);
}

function uploadLost(): StorageError {
  return new StorageError(
    "STORAGE_INCONSISTENT",
    "the upload was removed, its writer was too slow",
    {
      details: { outcome: "not-applied" },
    },
  );
}

/** Memory that only one parameter uses. It is given to the thread, where a copy would double what is in memory. */
function ownBuffers({ values }: BlobStatement): readonly ArrayBuffer[] {
  return values.flatMap((value) => {
    if (!(value instanceof Uint8Array) || value.byteLength < GIVEN_BYTES) return [];
    return value.buffer instanceof ArrayBuffer ? [value.buffer] : [];
  });
}
