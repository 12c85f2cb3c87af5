import { join } from "node:path";
import type { Logger } from "@stackwright/base/logger";
import type {
  CommitHistory,
  HistoryOptions,
  HistorySize,
  PastSnapshots,
  ResolvedHistory,
  StorageBackend,
} from "@stackwright/storage";
import type { BlobStore, DirectoryBlobsOptions } from "@stackwright/storage/blob";
import type { PostgresBlobsOptions } from "@stackwright/storage/blob/postgres";
import type { StorageModuleReference } from "@stackwright/storage/lease";
import { moveFolderBlobs } from "./move-folder-blobs.ts";
import { openEtcdBlobs } from "./open-etcd-blobs.ts";
import type { StoreAddress } from "./store-address.ts";

/** A store with its blobs. Disposing closes both. */
export interface OpenStore extends AsyncDisposable {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  /** Whether other processes may write to it at the same time. */
  readonly shared: boolean;
  /** How a thread that keeps leases alive opens a shared store for itself. */
  readonly renewal: StorageModuleReference | undefined;
  /** The time of its server; undefined for an engine that does not say it, or that is on this machine. */
  readonly serverMs?: ((signal: AbortSignal) => Promise<number>) | undefined;
  /** How much history it has for watches that resume; undefined for an engine that does not say it. */
  readonly historySize?: ((signal: AbortSignal) => Promise<HistorySize>) | undefined;
  /** What its writers forget history beyond; undefined for an engine that does not keep it. */
  readonly historyBounds?: ((signal: AbortSignal) => Promise<ResolvedHistory>) | undefined;
  /** Its history, commit by commit; undefined for an engine that does not give it out. */
  readonly commits?: CommitHistory | undefined;
  /** What it was at revisions of its engine; undefined for an engine that does not remember. */
  readonly past?: PastSnapshots | undefined;
}

interface OpenStoreOptions {
  /**
   * Opens for reading, also while another process writes. Only embedded stores know the difference: they are read in the
   * calling thread then, for which it waits.
   *
   * @default false
   */
  readonly readOnly?: boolean;
  /**
   * Writes to an embedded store that is not large in the calling thread: for commands, to which the start of a thread is most
   * of what they need.
   *
   * @default false
   */
  readonly inline?: boolean;
  /**
   * Folder for the blobs of stores that have no other place for them (memory; etcd by its address). Blobs of an etcd
   * store that an earlier release left there are moved to where its blobs are now.
   */
  readonly blobDirectory: string;
  /** Says to a server who is calling. */
  readonly token?: string;
  /** Trusted authorities of a server, in PEM. */
  readonly ca?: string;
  readonly logger?: Logger;
  /** How long blobs stay that nothing refers to. @default one hour */
  readonly blobHoldMs?: number;
  /** Bytes that the blobs of one account may have. Of a store on a server, the server's count. @default unlimited */
  readonly blobQuotaBytes?: number;
  /**
   * How much history is kept for watches that resume. Of a store on a server, the server's; an etcd store takes the longest age
   * alone, and only where it is given. @default as much as the store keeps, at first 16,384 commits of 64 MiB, of any age
   */
  readonly history?: HistoryOptions;
}

/**
 * Opens a store of any engine. Only the engine that is meant is loaded. Rejects with a `StorageError`, such as
 * `STORAGE_LOCKED` with the process that writes to an embedded store.
 */
export async function openStore(
  address: StoreAddress,
  options: OpenStoreOptions,
): Promise<OpenStore> {
  const {
    readOnly = false,
    inline = false,
    blobDirectory,
    logger,
    blobHoldMs,
    blobQuotaBytes,
  } = options;
  const kept = { ...(options.history !== undefined && { history: options.history }) };
  const limits = {
    ...(blobHoldMs !== undefined && { holdMs: blobHoldMs }),
    ...(blobQuotaBytes !== undefined && { ownerQuotaBytes: blobQuotaBytes }),
  };
  switch (address.kind) {
    case "sqlite": {
      const { createSqliteStorage } = await import("@stackwright/storage/sqlite");
      const storage = await createSqliteStorage({
        directory: address.directory,
        readOnly,
        // A reader has nothing else to do meanwhile.
        inline: readOnly || inline,
        ...kept,
        ...(logger !== undefined && { logger }),
      });
      const opened = await withBlobs(storage, undefined, async () => {
        const { createDirectoryBlobs } = await import("@stackwright/storage/blob");
        return createDirectoryBlobs({
          directory: join(address.directory, "blobs"),
          readOnly,
          ...limits,
        });
      });
      return {
        ...opened,
        historySize: async (signal) => storage.historySize({ signal }),
        historyBounds: async (signal) => storage.historyBounds({ signal }),
        commits: storage,
      };
    }
    case "postgres": {
      const { createPostgresStorage } = await import("@stackwright/storage/postgres");
      const storage = await createPostgresStorage({
        url: address.url,
        ...kept,
        ...(logger !== undefined && { logger }),
      });
      const renewal = {
        module: "@stackwright/storage/postgres",
        factory: "createPostgresStorage",
        options: { url: address.url, migrate: false, connections: 1 },
      };
      const opened = await withBlobs(storage, renewal, async () =>
        postgresBlobs({ url: address.url, ...limits }),
      );
      return {
        ...opened,
        serverMs: async (signal) => storage.serverMs({ signal }),
        historySize: async (signal) => storage.historySize({ signal }),
        historyBounds: async (signal) => storage.historyBounds({ signal }),
        commits: storage,
      };
    }
    case "etcd": {
      const { createEtcdStorage } = await import("@stackwright/storage/etcd");
      const etcd = {
        endpoints: address.endpoints,
        ...(address.root !== undefined && { root: address.root }),
      };
      const storage = await createEtcdStorage({
        ...etcd,
        ...kept,
        ...(logger !== undefined && { logger }),
      });
      const renewal = {
        module: "@stackwright/storage/etcd",
        factory: "createEtcdStorage",
        options: etcd,
      };
      const opened = await withBlobs(storage, renewal, async () => {
        const blobs = await openEtcdBlobs(address, { directory: blobDirectory, ...limits });
        if (!readOnly && address.blobs !== "folder") {
          await moveFolderBlobs(blobDirectory, blobs, logger);
        }
        return blobs;
      });
      return { ...opened, past: storage };
    }
    case "remote": {
      const { host, port, tls } = address;
      const connection = {
        address: { host, port },
        ...(options.token !== undefined && { token: options.token }),
        ...(tls && { tls: { ...(options.ca !== undefined && { trusted: options.ca }) } }),
      };
      const { createRemoteStorage } = await import("@stackwright/storage/remote");
      const storage = await createRemoteStorage(connection);
      const renewal = {
        module: "@stackwright/storage/remote",
        factory: "createRemoteStorage",
        options: connection,
      };
      return withBlobs(storage, renewal, async () => {
        const { createRemoteBlobs } = await import("@stackwright/storage/blob/remote");
        return createRemoteBlobs(connection);
      });
    }
    case "memory":
    default: {
      const { createMemoryStorage } = await import("@stackwright/storage/memory");
      return withBlobs(createMemoryStorage(kept), undefined, async () =>
        folderBlobs({ directory: blobDirectory, ...limits }),
      );
    }
  }
}

async function folderBlobs(options: DirectoryBlobsOptions): Promise<BlobStore> {
  const { createDirectoryBlobs } = await import("@stackwright/storage/blob");
  return createDirectoryBlobs(options);
}

async function postgresBlobs(options: PostgresBlobsOptions): Promise<BlobStore> {
  const { createPostgresBlobs } = await import("@stackwright/storage/blob/postgres");
  return createPostgresBlobs(options);
}

async function withBlobs(
  storage: StorageBackend,
  renewal: StorageModuleReference | undefined,
  openBlobs: () => Promise<BlobStore>,
): Promise<OpenStore> {
  let blobs: BlobStore;
  try {
    blobs = await openBlobs();
  } catch (error) {
    await storage.close();
    throw error;
  }
  return {
    storage,
    blobs,
    shared: renewal !== undefined,
    renewal,
    [Symbol.asyncDispose]: async () => {
      await blobs.close();
      await storage.close();
    },
  };
}
