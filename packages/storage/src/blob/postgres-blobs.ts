import { randomUUID } from "node:crypto";
import {
  type ConnectionOptions,
  Connections,
  resolveConnectionOptions,
} from "../engine/postgres/connections.ts";
import { prepareDatabase } from "../engine/postgres/migrate.ts";
import { asBuffer, byteaArray } from "../engine/postgres/rows.ts";
import { StorageError } from "../errors.ts";
import type { BlobCharge, BlobChunk, BlobEngine, BlobHead, BlobUpload } from "./blob-engine.ts";
import { type BlobStoreOptions, ChunkedBlobStore } from "./blob-store.ts";
import { quotaExceeded } from "./checks.ts";
import type { BlobCapabilities, BlobStore } from "./types.ts";

/** Options of {@link createPostgresBlobs}; the schema may be that of a resource store. */
export interface PostgresBlobsOptions extends BlobStoreOptions, ConnectionOptions {
  /** Whether an open brings the tables to the newest layout. @default true */
  readonly migrate?: boolean;
}

interface HeadRow {
  readonly sha256: Uint8Array;
  readonly size: string;
  readonly chunk_bytes: number;
  readonly content: string;
}

/** A blob store in a PostgreSQL database, for any number of processes. Times are the server's. */
export async function createPostgresBlobs(options: PostgresBlobsOptions): Promise<BlobStore> {
  const connections = new Connections(resolveConnectionOptions(options));
  try {
    await prepareDatabase(connections, options.migrate ?? true);
  } catch (error) {
    await connections.close();
    throw error;
  }
  return new ChunkedBlobStore(new PostgresBlobEngine(connections), options);
}

// Creating, holding and removing a blob lock its row, so the three exclude each other. A reader
// needs no lock: rows that it finds missing belong to a blob that was removed.

class PostgresBlobEngine implements BlobEngine {
  readonly capabilities: BlobCapabilities = { engine: "postgres", durability: "os", shared: true };
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  async now(): Promise<number> {
    const [row] = await this.#connections.run(
      "read",
      (sql) => sql`SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now`,
    );
    return Number(row?.now);
  }

  async begin(): Promise<BlobUpload> {
    const content = randomUUID();
    await this.#connections.run(
      "write",
      (sql) => sql`INSERT INTO blob_upload (content) VALUES (${content})`,
    );
    return {
      append: async (position, chunk) => {
        const { sha256, bytes } = chunk;
        // Fails when the upload was collected as abandoned: then there is nothing to append to.
        const rows = await this.#connections.run(
          "write",
          (sql) => sql`
            WITH active AS (
              UPDATE blob_upload SET active_at = now() WHERE content = ${content} RETURNING content
            )
            INSERT INTO blob_chunk (content, position, sha256, bytes)
              SELECT content, ${position}, ${asBuffer(sha256)}, ${asBuffer(bytes)} FROM active
              RETURNING position`,
        );
        if (rows.length === 0) throw uploadLost();
      },
      finish: (blob, holdMs, charge) => this.#finish(content, blob, holdMs, charge),
      abort: () => this.#drop(content),
    };
  }

  async head(sha256: string): Promise<BlobHead | undefined> {
    const [row] = await this.#connections.run(
      "read",
      (sql) => sql<HeadRow[]>`
        SELECT sha256, size, chunk_bytes, content FROM blob WHERE sha256 = ${bytesOf(sha256)}`,
    );
    return row === undefined ? undefined : toHead(row);
  }

  async hold(sha256: readonly string[], holdMs: number): Promise<readonly BlobHead[]> {
    // In one order, so that two who hold the same blobs do not wait for each other.
    const digests = byteaArray(sha256.toSorted().map(bytesOf));
    const rows = await this.#connections.run(
      "write",
      (sql) => sql<HeadRow[]>`
        WITH found AS (
          SELECT sha256 FROM blob WHERE sha256 = ANY (${digests}::bytea[])
            ORDER BY sha256 FOR UPDATE
        )
        UPDATE blob b SET held_until =
            greatest(b.held_until, clock_timestamp() + ${holdMs} * interval '1 millisecond')
          FROM found f WHERE b.sha256 = f.sha256
          RETURNING b.sha256, b.size, b.chunk_bytes, b.content`,
    );
    return rows.map(toHead);
  }

  async chunk(blob: BlobHead, position: number): Promise<BlobChunk | undefined> {
    const [row] = await this.#connections.run(
      "read",
      (sql) => sql<BlobChunk[]>`
        SELECT sha256, bytes FROM blob_chunk
          WHERE content = ${blob.content} AND position = ${position}`,
    );
    return row;
  }

  async owners(sha256: string): Promise<readonly string[]> {
    const rows = await this.#connections.run(
      "read",
      (sql) => sql<{ owner: string }[]>`
        SELECT owner FROM blob_claim WHERE sha256 = ${bytesOf(sha256)} ORDER BY owner`,
    );
    return rows.map((row) => row.owner);
  }

  async expired(before: number, after: string, limit: number): Promise<readonly string[]> {
    const rows = await this.#connections.run(
      "read",
      (sql) => sql<{ sha256: Uint8Array }[]>`
        SELECT sha256 FROM blob
          WHERE held_until < to_timestamp(${before}::float8 / 1000) AND sha256 > ${bytesOf(after)}
          ORDER BY sha256 LIMIT ${limit}`,
    );
    return rows.map((row) => asBuffer(row.sha256).toString("hex"));
  }

  async remove(sha256: string, before: number): Promise<boolean> {
    const rows = await this.#connections.run(
      "write",
      (sql) => sql`
        WITH doomed AS (
          DELETE FROM blob WHERE sha256 = ${bytesOf(sha256)}
              AND held_until < to_timestamp(${before}::float8 / 1000)
            RETURNING content
        ), chunks AS (
          DELETE FROM blob_chunk c USING doomed d WHERE c.content = d.content
        )
        SELECT content FROM doomed`,
    );
    return rows.length > 0;
  }

  async removeUploads(before: number): Promise<number> {
    const rows = await this.#connections.run(
      "write",
      (sql) => sql`
        WITH doomed AS (
          DELETE FROM blob_upload WHERE active_at < to_timestamp(${before}::float8 / 1000)
            RETURNING content
        ), chunks AS (
          DELETE FROM blob_chunk c USING doomed d WHERE c.content = d.content
        )
        SELECT content FROM doomed`,
    );
    return rows.length;
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  async #finish(
    content: string,
    blob: Omit<BlobHead, "content">,
    holdMs: number,
    charge: BlobCharge | undefined,
  ): Promise<void> {
    const sha256 = bytesOf(blob.sha256);
    const [row] = await this.#connections.run(
      "write",
      (sql) => sql<{ stored: string | null; used: string | null }[]>`
        SELECT stored, used FROM finish_blob(${content}, ${sha256}, ${blob.size}, ${blob.chunkBytes},
          ${holdMs}, ${charge?.owner ?? null}, ${charge?.quotaBytes ?? null})`,
    );
    if (row === undefined) throw uploadLost();
    if (row.stored !== content) await this.#drop(content);
    if (row.stored === null && charge !== undefined) {
      throw quotaExceeded(charge, Number(row.used), blob.size);
    }
  }

  async #drop(content: string): Promise<void> {
    await this.#connections.run(
      "write",
      (sql) => sql`
        WITH upload AS (DELETE FROM blob_upload WHERE content = ${content})
        DELETE FROM blob_chunk WHERE content = ${content}`,
    );
  }
}

function toHead(row: HeadRow): BlobHead {
  return {
    sha256: asBuffer(row.sha256).toString("hex"),
    size: Number(row.size),
    chunkBytes: row.chunk_bytes,
    content: row.content,
  };
}

function bytesOf(sha256: string): Buffer {
  return Buffer.from(sha256, "hex");
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
