import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "@stackwright/base/logger";
import { RangeRequest, TxnRequest } from "@stackwright/proto/etcd";
import type { StorageCapabilities } from "../../capabilities.ts";
import { ResourceEncoder } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import { formatCursor } from "../../feed/cursor.ts";
import { EventFeed } from "../../feed/event-feed.ts";
import type { ResolvedWatchBuffer } from "../../feed/watch-stream.ts";
import { freezeId, freezeResource, toReadonlyResource, withVersion } from "../../freeze.ts";
import { lifetimeKey, type ResourceFilter } from "../../key.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../../list/types.ts";
import { checkReadResult } from "../../preconditions.ts";
import type { Resource, ResourceId, Tenancy, UnversionedType } from "../../resource.ts";
import type {
  BatchOperation,
  CallOptions,
  ReadConsistency,
  ReadManyOptions,
  Restore,
  Snapshot,
  StorageBackend,
  Watch,
  WatchOptions,
  WriteOptions,
} from "../../types.ts";
import {
  checkBatch,
  checkConsistency,
  checkFilter,
  checkGuards,
  checkId,
  checkResource,
  checkVersion,
  unsupported,
} from "../../validate.ts";
import { abortable } from "../abortable.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { HistoryFollower } from "./history-follower.ts";
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

/** What an {@link EtcdBackend} is made of. */
interface EtcdBackendParts {
  readonly client: EtcdClient;
  readonly layout: Layout;
  /** Names the store and the cluster, in cursors. */
  readonly epoch: string;
  readonly capabilities: StorageCapabilities;
  readonly watchBuffer: ResolvedWatchBuffer;
  /** How long a write may wait and take. */
  readonly timeoutMs: number;
  readonly logger: Logger | undefined;
}

// All reads are linearizable: each gets its answer from a member that has first learned from the
// leader how far the cluster is. So a commit that was acknowledged or delivered by a watch, of
// whichever member, is in every later read.

/** A store in etcd as its callers see it. */
export class EtcdBackend implements StorageBackend {
  readonly capabilities: StorageCapabilities;
  readonly #client: EtcdClient;
  readonly #layout: Layout;
  readonly #source: EtcdWatchContext;
  readonly #feed: EventFeed;
  readonly #follower: HistoryFollower;
  readonly #groups: EtcdWriteGroups;
  readonly #encoder = new ResourceEncoder();
  /** Calls under way, so that closing can wait for them. */
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(parts: EtcdBackendParts) {
    this.capabilities = parts.capabilities;
    this.#client = parts.client;
    this.#layout = parts.layout;
    this.#source = parts;
    this.#feed = new EventFeed(parts.watchBuffer);
    this.#follower = new HistoryFollower(parts, this.#feed, parts.logger);
    this.#groups = new EtcdWriteGroups(parts.client, parts.timeoutMs);
  }

  async read(
    consistency: ReadConsistency,
    id: ResourceId,
    options: CallOptions = {},
  ): Promise<Resource> {
    this.#begin(options);
    checkConsistency(consistency);
    checkId(id, this.capabilities.limits);
    const request = RangeRequest.create({ ...this.#layout.lifetimes(id) });
    const { kvs } = await this.#run(this.#client.range(request), options);
    const [stored] = fromValues(this.#layout, kvs.slice(0, 1));
    return checkReadResult(stored, id);
  }

  async writeCAS(resource: Resource, options: WriteOptions = {}): Promise<Resource> {
    this.#begin(options);
    checkResource(resource, this.capabilities.limits);
    const [stored] = await this.#write([{ kind: "write", resource }], options, false);
    return stored as Resource;
  }

  async deleteCAS(id: ResourceId, version: string, options: WriteOptions = {}): Promise<void> {
    this.#begin(options);
    checkId(id, this.capabilities.limits);
    checkVersion(version);
    await this.#write([{ kind: "delete", id, version }], options, false);
  }

  async batch(
    operations: readonly BatchOperation[],
    options: WriteOptions = {},
  ): Promise<readonly (Resource | undefined)[]> {
    this.#begin(options);
    checkBatch(operations, this.capabilities);
    return this.#write(operations, options, true);
  }

  async list(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ReadManyOptions = {},
  ): Promise<readonly Resource[]> {
    this.#begin(options);
    checkConsistency(consistency);
    checkFilter(type, tenancy, namePrefix, this.capabilities.limits);
    const filter = { type: { group: type.group, kind: type.kind }, tenancy, namePrefix };
    const collect = async (): Promise<readonly Resource[]> => {
      const resources: Resource[] = [];
      const { onDamaged } = options;
      for await (const page of scanResources(this.#client, this.#layout, filter, onDamaged)) {
        resources.push(...page.resources);
      }
      return resources;
    };
    return this.#run(collect(), options);
  }

  async listPage(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ListPageOptions = {},
  ): Promise<ListPage> {
    const filter = this.#beginPage(consistency, { type, tenancy, namePrefix }, options);
    const reading = listValues(this.#source, "resources", filter, options);
    const { values, ...rest } = await this.#run(reading, options);
    return { ...rest, resources: fromValues(this.#layout, values, options.onDamaged) };
  }

  async listHeads(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ListPageOptions = {},
  ): Promise<ListPage<ResourceHead>> {
    const filter = this.#beginPage(consistency, { type, tenancy, namePrefix }, options);
    const reading = listValues(this.#source, "heads", filter, options);
    const { values, ...rest } = await this.#run(reading, options);
    return { ...rest, resources: headsOfValues(this.#layout, values, options.onDamaged) };
  }

  async listByOwner(id: ResourceId, options: ReadManyOptions = {}): Promise<readonly Resource[]> {
    this.#begin(options);
    checkId(id, this.capabilities.limits);
    return this.#run(this.#readOwned(freezeId(id), options), options);
  }

  async watchList(
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: WatchOptions = {},
  ): Promise<Watch> {
    this.#begin(options);
    checkFilter(type, tenancy, namePrefix, this.capabilities.limits);
    const filter = {
      type: { group: type.group, kind: type.kind },
      tenancy: { ...tenancy },
      namePrefix,
    };
    const { resumeAfter } = options;
    const stream = this.#feed.open(filter, options.bookmarks);
    try {
      const opening = this.#follower
        .start(this.#head)
        .then(() =>
          resumeAfter === undefined
            ? openSnapshotWatch(this.#source, filter, options)
            : openResumed(this.#source, filter, resumeAfter, this.#head),
        );
      // Also the prologue of a watch that was given up meanwhile has to be freed: start() does.
      opening.then((prologue) => stream.start(prologue)).catch(() => undefined);
      await this.#run(opening, options);
    } catch (error) {
      if (error instanceof StorageError && error.code === "STORAGE_WATCH_CLOSED") {
        stream.fail(error);
      } else {
        stream.close();
        throw error;
      }
    }
    return stream;
  }

  async snapshot(options: ReadManyOptions = {}): Promise<Snapshot> {
    this.#begin(options);
    const pages = scanResources(this.#client, this.#layout, undefined, options.onDamaged);
    // The first page fixes the revision; it is fetched now, not at the first iteration.
    const first = await this.#run(pages.next(), options);
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

  async restore(options: CallOptions = {}): Promise<Restore> {
    this.#begin(options);
    throw unsupported(this.capabilities, "restore");
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", "the backend was closed"));
    await this.#follower.stop();
    await Promise.allSettled(this.#running);
    await this.#client.close();
  }

  #begin(options: CallOptions): void {
    options.signal?.throwIfAborted();
    if (this.#closing === undefined) return;
    throw new StorageError("STORAGE_INCONSISTENT", "the backend is closed", {
      details: { outcome: "not-applied" },
    });
  }

  /** The filter of a page, once its arguments are checked. */
  #beginPage(
    consistency: ReadConsistency,
    { type, tenancy, namePrefix }: ResourceFilter,
    options: ListPageOptions,
  ): ResourceFilter {
    this.#begin(options);
    checkConsistency(consistency);
    checkFilter(type, tenancy, namePrefix, this.capabilities.limits);
    return { type: { ...type }, tenancy: { ...tenancy }, namePrefix };
  }

  #run<T>(call: Promise<T>, options: CallOptions): Promise<T> {
    this.#running.add(call);
    void call.catch(() => undefined).finally(() => this.#running.delete(call));
    return abortable(call, options.signal);
  }

  /** The position of the last commit. */
  readonly #head = async (): Promise<number> => {
    const key = this.#layout.epochKey;
    const { header } = await this.#client.range(RangeRequest.create({ key, countOnly: true }));
    return endOfRevision(header?.revision ?? 0n);
  };

  /** Writes checked operations; in a batch errors carry their position. */
  async #write(
    operations: readonly BatchOperation[],
    options: WriteOptions,
    batch: boolean,
  ): Promise<readonly (Resource | undefined)[]> {
    const guards = [...(options.guards ?? [])];
    checkGuards(guards, this.capabilities);
    const request = { guards, operations: operations.map(prepareOperation), batch };
    const revision = await this.#run(this.#apply(request), options);
    return request.operations.map((operation) =>
      operation.kind === "delete"
        ? undefined
        : toReadonlyResource(
            withVersion(operation.resource, this.#layout.version(operation.resource.id, revision)),
          ),
    );
  }

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
    this.#run(removing, {}).catch(() => undefined);
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

/** The operation, independent of what its caller does with the argument afterwards. */
function prepareOperation(operation: BatchOperation): BatchOperation {
  return operation.kind === "delete"
    ? { kind: "delete", id: freezeId(operation.id), version: operation.version }
    : { kind: "write", resource: freezeResource(operation.resource) };
}
