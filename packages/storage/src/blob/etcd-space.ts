import type { EtcdClient } from "../engine/etcd/etcd-client.ts";
import { StorageError } from "../errors.ts";

/** The part of a database that blobs may fill. Resources, leases and the history before a compaction need the rest. */
const SHARE = 0.75;
/** The part that the file may have, also if much of it is free: it never shrinks by itself. */
const FILE_SHARE = 0.95;
/** How long an answer of the cluster is used. Meanwhile one process writes some 100 MiB at most. */
const FRESH_MS = 1_000;

/** Watches over the space in the database of an etcd cluster. */
export class EtcdSpace {
  readonly #client: EtcdClient;
  readonly #assumedBytes: number;
  #checking: Promise<void> | undefined;
  #freshUntil = 0;

  /** @param assumedBytes the largest database, where the cluster does not say it */
  constructor(client: EtcdClient, assumedBytes: number) {
    this.#client = client;
    this.#assumedBytes = assumedBytes;
  }

  /** `STORAGE_QUOTA_EXCEEDED` where blobs have no space. */
  async check(): Promise<void> {
    if (performance.now() < this.#freshUntil) return;
    this.#checking ??= this.#ask().finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
  }

  async #ask(): Promise<void> {
    for (const { size, used, quota } of await this.#client.databases()) {
      const limit = quota > 0 ? quota : this.#assumedBytes;
      if (used <= limit * SHARE && size <= limit * FILE_SHARE) continue;
      throw new StorageError(
        "STORAGE_QUOTA_EXCEEDED",
        `the database of etcd has no space for blobs: ${used} bytes are in use and its file has ${size}, of at most ` +
          `${limit}; delete old plans, versions or stacks, have the cluster compacted and defragmented, give it a ` +
          "larger --quota-backend-bytes, or keep the blobs in PostgreSQL (etcd://HOST:PORT?blobs=postgres://...)",
        { details: { field: "content", limit, actual: used } },
      );
    }
    this.#freshUntil = performance.now() + FRESH_MS;
  }
}
