import { randomUUID } from "node:crypto";
import { DeleteRangeRequest, RangeRequest, RequestOp, TxnRequest } from "@stackwright/proto/etcd";
import type { KeyValue } from "@stackwright/proto/etcd/mvccpb";
import { type ClusterClock, openClusterClock } from "../engine/etcd/cluster-clock.ts";
import { EtcdClient } from "../engine/etcd/etcd-client.ts";
import type { KeyRange } from "../engine/etcd/layout.ts";
import { getOf, modIs, put } from "../engine/etcd/transaction.ts";
import type { EtcdStorageOptions } from "../engine/etcd.ts";
import { StorageError } from "../errors.ts";
import type { BlobCharge, BlobChunk, BlobEngine, BlobHead, BlobUpload } from "./blob-engine.ts";
import { type BlobStoreOptions, ChunkedBlobStore } from "./blob-store.ts";
import { quotaExceeded } from "./checks.ts";
import {
  decodeBlob,
  decodeChunk,
  decodeNumber,
  EtcdBlobLayout,
  encodeBlob,
  encodeChunk,
  type StoredBlob,
} from "./etcd-blob-layout.ts";
import { EtcdSpace } from "./etcd-space.ts";
import type { BlobCapabilities, BlobStore } from "./types.ts";

/** Options of {@link createEtcdBlobs}; cluster and root may be those of a resource store. */
export interface EtcdBlobsOptions
  extends BlobStoreOptions,
    Pick<EtcdStorageOptions, "endpoints" | "tls" | "credentials" | "root" | "timeoutMs"> {
  /**
   * Bytes that the database of a member may have, where the cluster does not say it (before 3.6): its option
   * `--quota-backend-bytes`.
   *
   * @default 2 GiB, as etcd has it
   */
  readonly databaseBytes?: number;
}

const PAGE = 200;
/** Accounts whose bytes one transaction takes back. etcd allows 128 operations. */
const OWNERS_AT_ONCE = 40;
const GIB = 1024 ** 3;

/**
 * A blob store in an etcd cluster, for any number of processes. Chunks are keys of at most 256 KiB. Blobs may
 * fill three quarters of the database of a member: beyond that writes are `STORAGE_QUOTA_EXCEEDED`, so that the
 * database never gets full, which would stop every write of the cluster. Times are the cluster's.
 *
 * Rejects with `STORAGE_PERMISSION_DENIED`, or `STORAGE_INCONSISTENT` when no quorum can be reached.
 */
export async function createEtcdBlobs(options: EtcdBlobsOptions): Promise<BlobStore> {
  const { timeoutMs = 5_000, root = "stackwright/", databaseBytes = 2 * GIB } = options;
  const client = new EtcdClient({ ...options, timeoutMs });
  try {
    const clock = await openClusterClock(options.endpoints, options.tls);
    const space = new EtcdSpace(client, databaseBytes);
    return new ChunkedBlobStore(
      new EtcdBlobEngine(client, new EtcdBlobLayout(root), clock, space),
      options,
    );
  } catch (error) {
    await client.close();
    throw error;
  }
}

interface Found<T> {
  readonly value: T;
  readonly modRevision: bigint;
}

// Every change is a transaction that compares what was read before; where another writer was faster, the step
// begins again with what is there now. So each may be sent again when its answer was lost ("read" below): the
// second time it compares, finds its own work, and leaves it.

class EtcdBlobEngine implements BlobEngine {
  readonly capabilities: BlobCapabilities = {
    engine: "etcd",
    durability: "replicated",
    shared: true,
  };
  readonly #client: EtcdClient;
  readonly #layout: EtcdBlobLayout;
  readonly #clock: ClusterClock;
  readonly #space: EtcdSpace;

  constructor(client: EtcdClient, layout: EtcdBlobLayout, clock: ClusterClock, space: EtcdSpace) {
    this.#client = client;
    this.#layout = layout;
    this.#clock = clock;
    this.#space = space;
  }

  async now(): Promise<number> {
    return this.#clock.now();
  }

  async begin(): Promise<BlobUpload> {
    const content = randomUUID();
    const upload = this.#layout.upload(content);
    await this.#space.check();
    await this.#commit({ success: [put(upload, this.#activity())] });
    return {
      append: async (position, { sha256, bytes }) => {
        await this.#space.check();
        const isAdded = await this.#commit({
          compare: [exists(upload)],
          success: [
            put(this.#layout.chunk(content, position), encodeChunk(sha256, bytes)),
            put(upload, this.#activity()),
          ],
        });
        if (!isAdded) throw uploadLost();
      },
      finish: (blob, holdMs, charge) => this.#finish(content, blob, holdMs, charge),
      // A content that became a blob has no upload any more, and stays.
      abort: async () => {
        await this.#commit({ compare: [exists(upload)], success: this.#dropped(content) });
      },
    };
  }

  async head(sha256: string): Promise<BlobHead | undefined> {
    return (await this.#blob(sha256))?.value;
  }

  async hold(sha256: readonly string[], holdMs: number): Promise<readonly BlobHead[]> {
    const held: BlobHead[] = [];
    for (const digest of sha256) {
      for (;;) {
        const found = await this.#blob(digest);
        if (found === undefined) break;
        if (await this.#replace(found, { heldUntil: this.#until(found.value, holdMs) })) {
          held.push(found.value);
          break;
        }
      }
    }
    return held;
  }

  async chunk(blob: BlobHead, position: number): Promise<BlobChunk | undefined> {
    const found = await this.#get(this.#layout.chunk(blob.content, position));
    return found === undefined ? undefined : decodeChunk(found.value);
  }

  async owners(sha256: string): Promise<readonly string[]> {
    return (await this.#blob(sha256))?.value.owners ?? [];
  }

  async expired(before: number, after: string, limit: number): Promise<readonly string[]> {
    const found: string[] = [];
    for (let last = after; ; ) {
      const page = await this.#page(this.#layout.blobsAfter(last));
      for (const kv of page) {
        const { sha256, heldUntil } = decodeBlob(kv);
        last = sha256;
        if (heldUntil >= before) continue;
        found.push(sha256);
        if (found.length === limit) return found;
      }
      if (page.length < PAGE) return found;
    }
  }

  async remove(sha256: string, before: number): Promise<boolean> {
    for (let isSent = false; ; isSent = true) {
      const found = await this.#blob(sha256);
      if (found === undefined) return isSent;
      const { heldUntil, owners, content, size } = found.value;
      if (heldUntil >= before) return false;
      const released = owners.slice(0, OWNERS_AT_ONCE);
      const usages = await Promise.all(released.map((owner) => this.#usage(owner)));
      const compare = usages.map(({ key, modRevision }) => modIs(key, modRevision));
      const success = usages.map(({ key, used }) =>
        put(key, numberBytes(Math.max(0, used - size))),
      );
      if (owners.length > released.length) {
        await this.#replace(found, { owners: owners.slice(OWNERS_AT_ONCE) }, { compare, success });
        continue;
      }
      const key = this.#layout.blob(sha256);
      const isRemoved = await this.#commit({
        compare: [...compare, modIs(key, found.modRevision)],
        // The chunks go with the entry: a reader that finds one missing asks for the entry again.
        success: [...success, remove({ key }), remove(this.#layout.chunks(content))],
      });
      if (isRemoved) return true;
    }
  }

  async removeUploads(before: number): Promise<number> {
    let removed = 0;
    for (let last: Uint8Array | undefined; ; ) {
      const page = await this.#page(this.#layout.uploadsAfter(last));
      for (const { key, value, modRevision } of page) {
        last = key;
        if (decodeNumber(value) >= before) continue;
        const isRemoved = await this.#commit({
          compare: [modIs(Buffer.from(key), modRevision)],
          success: this.#dropped(this.#layout.contentOf(key)),
        });
        if (isRemoved) removed += 1;
      }
      if (page.length < PAGE) return removed;
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #finish(
    content: string,
    blob: Omit<BlobHead, "content">,
    holdMs: number,
    charge: BlobCharge | undefined,
  ): Promise<void> {
    const upload = this.#layout.upload(content);
    const key = this.#layout.blob(blob.sha256);
    for (;;) {
      // Both at one revision: another writer may just now let the blob count against the owner.
      const [entry, total] = await this.#getAll(
        charge === undefined ? [key] : [key, this.#layout.usage(charge.owner)],
      );
      const found = entry && { value: decodeBlob(entry), modRevision: entry.modRevision };
      // The answer of an earlier attempt was lost.
      if (found?.value.content === content) return;
      const counts = charge !== undefined && found?.value.owners.includes(charge.owner) !== true;
      const used = decodeNumber(total?.value);
      if (charge?.quotaBytes !== undefined && counts && used + blob.size > charge.quotaBytes) {
        throw quotaExceeded(charge, used, blob.size);
      }
      const owners = found?.value.owners ?? [];
      const next: StoredBlob = {
        ...(found?.value ?? { ...blob, content }),
        heldUntil: this.#until(found?.value, holdMs),
        owners: counts ? [...owners, charge.owner] : owners,
      };
      const isFinished = await this.#commit({
        compare: [
          exists(upload),
          modIs(key, found?.modRevision ?? 0n),
          ...(counts ? [modIs(this.#layout.usage(charge.owner), total?.modRevision ?? 0n)] : []),
        ],
        success: [
          put(key, encodeBlob(next)),
          ...(counts ? [put(this.#layout.usage(charge.owner), numberBytes(used + blob.size))] : []),
          ...(found === undefined ? [remove({ key: upload })] : this.#dropped(content)),
        ],
      });
      if (isFinished) return;
      if ((await this.#get(upload)) !== undefined) continue;
      // Gone: finished by an attempt whose answer was lost, or collected as abandoned.
      const stored = (await this.#blob(blob.sha256))?.value;
      const isDone =
        stored !== undefined &&
        stored.heldUntil >= next.heldUntil &&
        (charge === undefined || stored.owners.includes(charge.owner));
      if (isDone) return;
      throw uploadLost();
    }
  }

  /** Changes the entry of a blob if it is still as it was found. */
  #replace(
    { value, modRevision }: Found<StoredBlob>,
    change: Partial<StoredBlob>,
    { compare, success }: Steps = { success: [] },
  ): Promise<boolean> {
    const key = this.#layout.blob(value.sha256);
    return this.#commit({
      compare: [...(compare ?? []), modIs(key, modRevision)],
      success: [...success, put(key, encodeBlob({ ...value, ...change }))],
    });
  }

  #until(blob: StoredBlob | undefined, holdMs: number): number {
    return Math.max(blob?.heldUntil ?? 0, this.#clock.now() + holdMs);
  }

  #activity(): Buffer {
    return numberBytes(this.#clock.now());
  }

  /** Removes an upload with its chunks. */
  #dropped(content: string): readonly RequestOp[] {
    return [remove({ key: this.#layout.upload(content) }), remove(this.#layout.chunks(content))];
  }

  async #blob(sha256: string): Promise<Found<StoredBlob> | undefined> {
    const kv = await this.#get(this.#layout.blob(sha256));
    return kv === undefined ? undefined : { value: decodeBlob(kv), modRevision: kv.modRevision };
  }

  async #usage(owner: string): Promise<{ key: Buffer; used: number; modRevision: bigint }> {
    const key = this.#layout.usage(owner);
    const kv = await this.#get(key);
    return { key, used: decodeNumber(kv?.value), modRevision: kv?.modRevision ?? 0n };
  }

  async #get(key: Buffer): Promise<KeyValue | undefined> {
    const { kvs } = await this.#client.range(RangeRequest.create({ key }));
    return kvs[0];
  }

  async #getAll(keys: readonly Buffer[]): Promise<readonly (KeyValue | undefined)[]> {
    const request = TxnRequest.create({ success: keys.map(getOf) });
    const { responses } = await this.#client.txn(request, "read");
    return responses.map(({ response }) =>
      response?.$case === "responseRange" ? response.value.kvs[0] : undefined,
    );
  }

  async #page(range: KeyRange): Promise<readonly KeyValue[]> {
    const request = RangeRequest.create({ ...range, limit: BigInt(PAGE) });
    return (await this.#client.range(request)).kvs;
  }

  async #commit({ compare = [], success }: Steps): Promise<boolean> {
    const request = TxnRequest.create({ compare: [...compare], success: [...success] });
    return (await this.#client.txn(request, "read")).succeeded;
  }
}

interface Steps {
  readonly compare?: readonly ReturnType<typeof modIs>[];
  readonly success: readonly RequestOp[];
}

function exists(key: Buffer): ReturnType<typeof modIs> {
  return modIs(key, 0n, "above");
}

function remove(range: { readonly key: Buffer; readonly rangeEnd?: Buffer }): RequestOp {
  const value = DeleteRangeRequest.create(range);
  return RequestOp.create({ request: { $case: "requestDeleteRange", value } });
}

function numberBytes(value: number): Buffer {
  return Buffer.from(String(Math.round(value)));
}

function uploadLost(): StorageError {
  return new StorageError(
    "STORAGE_INCONSISTENT",
    "the upload was removed, its writer was too slow",
    { details: { outcome: "not-applied" } },
  );
}
