import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "@stackwright/base/logger";
import { RangeRequest, TxnRequest } from "@stackwright/proto/etcd";
import type { StorageCapabilities } from "../../capabilities.ts";
import { ResourceEncoder } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import { formatCursor } from "../../feed/cursor.ts";
import { EventFeed } from "../../feed/event-feed.ts";
import type { ResolvedWatchBuffer } from "../../feed/watch-stream.ts";
import { toReadonlyResource, withVersion } from "../../freeze.ts";
import { lifetimeKey, type ResourceFilter } from "../../key.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../../list/types.ts";
import type { Resource, ResourceId } from "../../resource.ts";
import type {
  ReadConsistency,
  ReadManyOptions,
  Snapshot,
  Watch,
  WatchOptions,
} from "../../types.ts";
import { unsupported } from "../../validate.ts";
import { abortable } from "../abortable.ts";
import type { CheckedWrite, EngineAdapter } from "../engine-adapter.ts";
import { copyOperation } from "../operation.ts";
import { startWatch } from "../start-watch.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { HistoryFollower } from "./history-follower.ts";
import type { HistoryKeeper } from "./history-keeper.ts";
import type { Layout } from "./layout.ts";
import { listValues } from "./list-page.ts";
import { type EtcdWatchContext, openResumed, openSnapshotWatch } from "./open-watch.ts";
import { endOfRevision } from "./position.ts";
import { scanResources } from "./scan.ts";
import {
  buildTransaction,
  classifyTransactionFailure,
  getOf,
  removeEntry,
  type WriteRequest,
} from "./transaction.ts";
import { fromValues, headsOfValues } from "./values.ts";
import { EtcdWriteGroups } from "./write-groups.ts";

/** Most operations in one transaction of etcd, by default. */
const TXN_OPERATIONS = 128;

/** What an {@link EtcdEngine} is made of. */
interface EtcdEngineParts {
  readonly client: EtcdClient;
  readonly layout: Layout;
  /** Names the store and the cluster, in cursors. */
  readonly epoch: string;
  readonly capabilities: StorageCapabilities;
  readonly watchBuffer: ResolvedWatchBuffer;
  /** How long a write may wait and take. */
  readonly timeoutMs: number;
  readonly logger: Logger | undefined;
  /** Forgets old history, where that is not left to the cluster. */
  readonly history: HistoryKeeper | undefined;
}

// All reads are linearizable: each gets its answer from a member that has first learned from the
// leader how far the cluster is. So a commit that was acknowledged or delivered by a watch, of
// whichever member, is in every later read.

/** A store in etcd. */
export class EtcdEngine implements EngineAdapter {
  readonly capabilities: StorageCapabilities;
  readonly #client: EtcdClient;
  readonly #layout: Layout;
  readonly #source: EtcdWatchContext;
  readonly #feed: EventFeed;
  readonly #follower: HistoryFollower;
  readonly #groups: EtcdWriteGroups;
  readonly #history: HistoryKeeper | undefined;
  readonly #encoder = new ResourceEncoder();
  /** Calls under way, so that closing can wait for them. */
  readonly #running = new Set<Promise<unknown>>();

  constructor(parts: EtcdEngineParts) {
    this.capabilities = parts.capabilities;
    this.#client = parts.client;
    this.#layout = parts.layout;
    this.#source = parts;
    this.#feed = new EventFeed(parts.watchBuffer, async () =>
      this.#run(this.#follower.catchUp(this.#head)),
    );
    this.#follower = new HistoryFollower(parts, this.#feed, parts.logger);
    this.#history = parts.history;
    this.#groups = new EtcdWriteGroups(parts.client, parts.timeoutMs);
  }

  async read(_consistency: ReadConsistency, id: ResourceId): Promise<Resource | undefined> {
    const request = RangeRequest.create({ ...this.#layout.lifetimes(id) });
    const { kvs } = await this.#run(this.#client.range(request));
    const [stored] = fromValues(this.#layout, kvs.slice(0, 1));
    return stored;
  }

  async write({
    operations,
    guards,
    batch,
  }: CheckedWrite): Promise<readonly (Resource | undefined)[]> {
    const request = { guards: [...guards], operations: operations.map(copyOperation), batch };
    const revision = await this.#run(this.#apply(request));
    return request.operations.map((operation) =>
      operation.kind === "delete"
        ? undefined
        : toReadonlyResource(
            withVersion(operation.resource, this.#layout.version(operation.resource.id, revision)),
          ),
    );
  }

  list(
    _consistency: ReadConsistency,
    filter: ResourceFilter,
    { onDamaged }: ReadManyOptions,
  ): Promise<readonly Resource[]> {
    const collect = async (): Promise<readonly Resource[]> => {
      const resources: Resource[] = [];
      for await (const page of scanResources(this.#client, this.#layout, filter, onDamaged)) {
        resources.push(...page.resources);
      }
      return resources;
    };
    return this.#run(collect());
  }

  async listPage(
    _consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPage> {
    const reading = listValues(this.#source, "resources", filter, options);
    const { values, ...rest } = await this.#run(reading);
    return { ...rest, resources: fromValues(this.#layout, values, options.onDamaged) };
  }

  async listHeads(
    _consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPage<ResourceHead>> {
    const reading = listValues(this.#source, "heads", filter, options);
    const { values, ...rest } = await this.#run(reading);
    return { ...rest, resources: headsOfValues(this.#layout, values, options.onDamaged) };
  }

  listByOwner(owner: ResourceId, options: ReadManyOptions): Promise<readonly Resource[]> {
    return this.#run(this.#readOwned(owner, options));
  }

  async watch(filter: ResourceFilter, options: WatchOptions): Promise<Watch> {
    const { resumeAfter, signal } = options;
    const stream = this.#feed.open(filter, options.bookmarks);
    const opening = this.#follower
      .start(this.#head)
      .then(() =>
        resumeAfter === undefined
          ? openSnapshotWatch(this.#source, filter, options)
          : openResumed(this.#source, filter, resumeAfter, this.#head),
      );
    await startWatch(stream, this.#run(opening), signal);
    return stream;
  }

  async snapshot(options: ReadManyOptions): Promise<Snapshot> {
    const pages = scanResources(this.#client, this.#layout, undefined, options.onDamaged);
    // The first page fixes the revision; it is fetched now, not at the first iteration.
    const first = await abortable(this.#run(pages.next()), options.signal);
    const close = async (): Promise<void> => {
      await pages.return(undefined);
    };
    return {
      ...(first.value !== undefined && {
        cursor: formatCursor(this.#source.epoch, endOfRevision(first.value.revision)),
      }),
      async *[Symbol.asyncIterator]() {
        try {
          for (let page = first; page.done !== true; page = await pages.next()) {
            yield* page.value.resources;
          }
        } finally {
          await close();
        }
      },
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  restore(): Promise<never> {
    return Promise.reject(unsupported(this.capabilities, "restore"));
  }

  async close(): Promise<void> {
    this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", "the backend was closed"));
    const historyStopped = this.#history?.stop();
    await this.#follower.stop();
    await historyStopped;
    await Promise.allSettled(this.#running);
    await this.#client.close();
  }

  #run<T>(call: Promise<T>): Promise<T> {
    this.#running.add(call);
    void call.catch(() => undefined).finally(() => this.#running.delete(call));
    return call;
  }

  /** The position of the last commit. */
  readonly #head = async (): Promise<number> => {
    const key = this.#layout.epochKey;
    const { header } = await this.#client.range(RangeRequest.create({ key, countOnly: true }));
    return endOfRevision(header?.revision ?? 0n);
  };

  /** Applies a request and gives the revision of its commit. */
  async #apply(request: WriteRequest): Promise<bigint> {
    let skipped: ReadonlySet<number> = new Set();
    // The next round is only needed when deletes find nothing; that changes with every writer.
    for (let round = 0; round < 10; round += 1) {
      if (round > 2) await delay(round);
      const transaction = buildTransaction(this.#layout, this.#encoder, request, skipped);
      const answer = await this.#groups.commit(transaction, request);
      if (answer.succeeded) {
        this.#forgetOwners(answer.responses);
        return answer.header?.revision ?? 0n;
      }
      skipped = classifyTransactionFailure(this.#layout, request, answer);
      if (skipped.size === request.operations.length) return 0n;
    }
    throw new StorageError(
      "STORAGE_INCONSISTENT",
      "too many attempts conflicted with other writers",
      {
        details: { outcome: "not-applied" },
      },
    );
  }

  /** Removes the owner entries of what was deleted. */
  #forgetOwners(responses: Awaited<ReturnType<EtcdClient["txn"]>>["responses"]): void {
    for (const { response } of responses) {
      if (response?.$case !== "responseDeleteRange") continue;
      for (const kv of response.value.prevKvs) {
        // Of what was damaged the owner is not known; a reader removes the entry.
        for (const { id, owner } of fromValues(this.#layout, [kv], () => undefined)) {
          if (owner === undefined) continue;
          const entry = this.#layout.ownerEntry(owner, id);
          this.#removeEntry(entry, this.#layout.resource(id), 0n);
        }
      }
    }
  }

  /** Removes an owner entry in the background; left alone it does no harm. */
  #removeEntry(entry: Buffer, resource: Buffer, seen: bigint): void {
    const removing = this.#client.txn(removeEntry(entry, resource, seen), "read");
    this.#run(removing).catch(() => undefined);
  }

  async #readOwned(
    owner: ResourceId,
    { onDamaged }: ReadManyOptions,
  ): Promise<readonly Resource[]> {
    const range = this.#layout.owned(owner);
    const { kvs } = await this.#client.range(RangeRequest.create({ ...range, keysOnly: true }));
    const entries = kvs.map((kv) => Buffer.from(kv.key));
    const resources: Resource[] = [];
    for (let start = 0; start < entries.length; start += TXN_OPERATIONS) {
      const chunk = entries.slice(start, start + TXN_OPERATIONS);
      const keys = chunk.map((entry) => this.#layout.ownedResource(owner, entry));
      const success = keys.map((key) => getOf(key));
      const answer = await this.#client.txn(TxnRequest.create({ success }), "read");
      for (const [index, { response }] of answer.responses.entries()) {
        const kv = response?.$case === "responseRange" ? response.value.kvs[0] : undefined;
        const [resource] = kv === undefined ? [] : fromValues(this.#layout, [kv], onDamaged);
        // Whether a damaged one still has this owner is not known.
        if (kv !== undefined && resource === undefined) continue;
        if (resource?.owner !== undefined && lifetimeKey(resource.owner) === lifetimeKey(owner)) {
          resources.push(resource);
        } else {
          this.#removeEntry(chunk[index] as Buffer, keys[index] as Buffer, kv?.modRevision ?? 0n);
        }
      }
    }
    return resources;
  }
}
