import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { ChannelTls } from "@stackwright/proto/grpc";
import { MAX_BATCH_OPERATIONS, MAX_GUARDS, type StorageCapabilities } from "../capabilities.ts";
import { StorageError } from "../errors.ts";
import { type HistoryOptions, resolveHistory } from "../feed/history-options.ts";
import { resolveWatchBuffer, type WatchBufferOptions } from "../feed/watch-stream.ts";
import type { RestoreTarget } from "../restore-target.ts";
import { openClusterClock } from "./etcd/cluster-clock.ts";
import { EtcdClient } from "./etcd/etcd-client.ts";
import { EtcdEngine } from "./etcd/etcd-engine.ts";
import { fillStore } from "./etcd/fill-store.ts";
import { HistoryKeeper } from "./etcd/history-keeper.ts";
import { Layout } from "./etcd/layout.ts";
import { EtcdBackend, type EtcdStorage } from "./etcd/past-snapshot.ts";
import { openLine } from "./etcd/store-line.ts";

export type { EtcdStorage } from "./etcd/past-snapshot.ts";

/** Options of {@link createEtcdStorage}. */
export interface EtcdStorageOptions {
  /** URLs of members of one cluster, `http://host:port` or `https://host:port`. */
  readonly endpoints: readonly string[];
  /** Trusted authorities and the client's identity, for `https` endpoints. */
  readonly tls?: ChannelTls;
  /** For clusters with authentication by name and password. */
  readonly credentials?: { readonly name: string; readonly password: string };
  /** Beginning of all keys of the store. @default "stackwright/" */
  readonly root?: string;
  /** How long a call may take, with all attempts. @default 5,000 */
  readonly timeoutMs?: number;
  /**
   * Takes servers before 3.5 too. They are known to lose acknowledged writes and watch events.
   *
   * @default false
   */
  readonly allowOldServers?: boolean;
  /** How much a watch holds back for a slow consumer. */
  readonly watchBuffer?: WatchBufferOptions;
  /**
   * How long history is kept for watches that resume. With a longest age the instance compacts the whole cluster, also what
   * other applications have in it; numbers of commits and bytes are no bounds that a cluster has. @default as the cluster is set up
   */
  readonly history?: Pick<HistoryOptions, "maxAgeMs">;
  /** Runs the timer that forgets old history. @default the clock of the process */
  readonly clock?: Clock;
  readonly logger?: Logger;
}

const MIB = 1024 * 1024;

/**
 * What the etcd engine offers. The limits keep requests under the 1.5 MiB and 128 operations that
 * servers take by default. Content cannot be replaced in one step, so there is no restore
 * but into an empty store ({@link createEtcdRestoreTarget}).
 */
export const ETCD_CAPABILITIES: StorageCapabilities = Object.freeze({
  engine: "etcd",
  durability: "replicated",
  shared: true,
  strongList: true,
  pagedList: true,
  guards: MAX_GUARDS,
  batch: MAX_BATCH_OPERATIONS,
  endOfSnapshot: true,
  resume: true,
  snapshot: true,
  restore: false,
  limits: Object.freeze({
    nameBytes: 512,
    dataBytes: MIB,
    envelopeBytes: MIB / 4,
    batchBytes: MIB + MIB / 8,
  }),
});

/**
 * Opens a store in an etcd cluster, 3.5 or newer. Any number of instances in any number of processes
 * may work on one store.
 *
 * Everything is linearizable, `eventual` reads too. How long history is kept for watches that resume
 * is up to the cluster's compaction, which has to be set up there, or to `history.maxAgeMs`.
 *
 * Rejects with `STORAGE_UNSUPPORTED` for an older server, `STORAGE_INVALID_ARGUMENT`,
 * `STORAGE_PERMISSION_DENIED`, or `STORAGE_INCONSISTENT` when no quorum can be reached.
 */
export async function createEtcdStorage(options: EtcdStorageOptions): Promise<EtcdStorage> {
  const { timeoutMs = 5_000, root = "stackwright/", logger, clock = systemClock } = options;
  const { maxAgeMs } = resolveHistory(options.history);
  const client = new EtcdClient({ ...options, timeoutMs });
  try {
    if (options.allowOldServers !== true) await checkVersions(client);
    const { epoch, salt } = await openLine(client, new Layout(root).epochKey);
    const layout = new Layout(root, salt);
    const engine = new EtcdEngine({
      client,
      layout,
      epoch,
      capabilities: ETCD_CAPABILITIES,
      watchBuffer: resolveWatchBuffer(options.watchBuffer),
      timeoutMs,
      logger,
      history:
        maxAgeMs === undefined
          ? undefined
          : new HistoryKeeper({
              client,
              key: layout.historyKey,
              maxAgeMs,
              clock,
              clusterClock: await openClusterClock(options.endpoints, options.tls),
              logger,
            }),
    });
    return new EtcdBackend(engine, { client, layout, epoch });
  } catch (error) {
    await client.close();
    throw error;
  }
}

/**
 * Opens an empty store as the target of a restore. Until the restore is complete, opening the store rejects with
 * `STORAGE_INCONSISTENT`; what an interrupted one has left is removed by the next. No other process may use the
 * store meanwhile. Rejects as {@link createEtcdStorage} does.
 */
export async function createEtcdRestoreTarget(
  options: EtcdStorageOptions,
): Promise<RestoreTarget & AsyncDisposable> {
  const { timeoutMs = 5_000, root = "stackwright/" } = options;
  const client = new EtcdClient({ ...options, timeoutMs });
  const { limits } = ETCD_CAPABILITIES;
  return {
    limits,
    begin: async (call) => {
      if (options.allowOldServers !== true) await checkVersions(client);
      return fillStore({ client, layout: new Layout(root), limits }, call);
    },
    [Symbol.asyncDispose]: async () => client.close(),
  };
}

async function checkVersions(client: EtcdClient): Promise<void> {
  for (const version of await client.versions()) {
    const [major = 0, minor = 0] = version.split(".").map(Number);
    if (major > 3 || (major === 3 && minor >= 5)) continue;
    throw new StorageError("STORAGE_UNSUPPORTED", `etcd ${version} is too old: 3.5 is needed`);
  }
}
