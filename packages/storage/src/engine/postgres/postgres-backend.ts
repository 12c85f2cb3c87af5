import type { Logger } from "@stackwright/base/logger";
import type { StorageCapabilities } from "../../capabilities.ts";
import { decodeEach } from "../../damaged-resource.ts";
import { StorageError } from "../../errors.ts";
import { EventFeed } from "../../feed/event-feed.ts";
import type { ResolvedWatchBuffer } from "../../feed/watch-stream.ts";
import { freezeId, freezeResource, toReadonlyResource, withVersion } from "../../freeze.ts";
import { KEY_SEPARATOR, type ResourceFilter, resourceKey } from "../../key.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../../list/types.ts";
import { checkReadResult, guardFailed, refused } from "../../preconditions.ts";
import type { Resource, ResourceId, Tenancy, UnversionedType } from "../../resource.ts";
import type {
  BatchOperation,
  CallOptions,
  Guard,
  ReadConsistency,
  ReadManyOptions,
  Restore,
  Snapshot,
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
} from "../../validate.ts";
import { abortable } from "../abortable.ts";
import { ChangeFollower } from "./change-follower.ts";
import type { Connections } from "./connections.ts";
import { DurableReads } from "./durable-reads.ts";
import { type HistoryBounds, HistoryKeeper } from "./history-keeper.ts";
import { type OpenedPrologue, openResumed, openSnapshotWatch } from "./open-watch.ts";
import { PagedLists, toListedHead } from "./paged-lists.ts";
import type { PostgresStorage } from "./postgres-storage.ts";
import { type RowTarget, readRow } from "./reads.ts";
import { createRestore } from "./restore-handle.ts";
import { rowPages } from "./row-pages.ts";
import {
  type BodyRow,
  describeDamagedRow,
  fromBodyRow,
  fromRows,
  guardStep,
  operationStep,
  ownerKey,
} from "./rows.ts";
import { openSnapshot } from "./snapshot.ts";
import { RowStreams } from "./streamed-rows.ts";
import { WriteGroups, type WriteOutcome } from "./write-groups.ts";

/** What a {@link PostgresBackend} is made of. */
interface PostgresBackendParts {
  readonly connections: Connections;
  readonly capabilities: StorageCapabilities;
  readonly watchBuffer: ResolvedWatchBuffer;
  readonly history: HistoryBounds;
  readonly pollMs: number;
  readonly logger: Logger | undefined;
}

// All reads go to the primary, where a commit is visible to every statement that starts after it was
// acknowledged or seen in the history. That is linearizability, and it is monotonicity between
// watches and reads: events are read from the history, so a reader that has one can read its commit.

/** A store in PostgreSQL as its callers see it. */
export class PostgresBackend implements PostgresStorage {
  readonly capabilities: StorageCapabilities;
  readonly #connections: Connections;
  readonly #reads: DurableReads;
  readonly #feed: EventFeed;
  readonly #follower: ChangeFollower;
  readonly #history: HistoryKeeper;
  readonly #writes: WriteGroups;
  readonly #lists: PagedLists;
  readonly #streams: RowStreams;
  readonly #snapshots = new Set<Snapshot>();
  #closing: Promise<void> | undefined;

  constructor(parts: PostgresBackendParts) {
    const { connections, logger } = parts;
    this.capabilities = parts.capabilities;
    this.#connections = connections;
    this.#reads = new DurableReads(connections);
    this.#feed = new EventFeed(parts.watchBuffer);
    this.#follower = new ChangeFollower(connections, this.#reads, this.#feed, parts.pollMs, logger);
    this.#lists = new PagedLists(connections, this.#reads);
    this.#streams = new RowStreams(connections, this.#reads);
    this.#history = new HistoryKeeper(connections, parts.history, logger, () =>
      this.#follower.catchUp(),
    );
    this.#writes = new WriteGroups(connections, (written) => {
      this.#follower.announce();
      this.#history.committed(written);
    });
  }

  async read(
    consistency: ReadConsistency,
    id: ResourceId,
    options: CallOptions = {},
  ): Promise<Resource> {
    this.#begin(options);
    checkConsistency(consistency);
    checkId(id, this.capabilities.limits);
    const reading = this.#reads.run((sql) => readRow(sql, id));
    const { row } = await abortable(reading, options.signal);
    return checkReadResult(row === undefined ? undefined : readResource(row, id), id);
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
    return abortable(this.#collect({ kind: "filter", filter }, options), options.signal);
  }

  async listPage(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ListPageOptions = {},
  ): Promise<ListPage> {
    const filter = this.#beginPage(consistency, { type, tenancy, namePrefix }, options);
    const reading = this.#lists.page("resources", filter, options);
    const { rows, continuation } = await abortable(reading, options.signal);
    const resources = fromRows(rows, options.onDamaged);
    return { resources, ...(continuation === undefined ? {} : { continuation }) };
  }

  async listHeads(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ListPageOptions = {},
  ): Promise<ListPage<ResourceHead>> {
    const filter = this.#beginPage(consistency, { type, tenancy, namePrefix }, options);
    const reading = this.#lists.page("heads", filter, options);
    const { rows, continuation } = await abortable(reading, options.signal);
    const resources = decodeEach(rows, toListedHead, describeDamagedRow, options.onDamaged);
    return { resources, ...(continuation === undefined ? {} : { continuation }) };
  }

  async listByOwner(id: ResourceId, options: ReadManyOptions = {}): Promise<readonly Resource[]> {
    this.#begin(options);
    checkId(id, this.capabilities.limits);
    const owner = ownerKey(id) as Buffer;
    return abortable(this.#collect({ kind: "owner", owner }, options), options.signal);
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
    for (;;) {
      const stream = this.#feed.open(filter, options.bookmarks);
      try {
        const opening = this.#openPrologue(filter, options);
        // Also the prologue of a watch that was given up meanwhile has to be freed: start() does.
        opening.then((prologue) => stream.start(prologue)).catch(() => undefined);
        const { epoch } = await abortable(opening, options.signal);
        if (epoch === this.#follower.epoch) return stream;
      } catch (error) {
        if (error instanceof StorageError && error.code === "STORAGE_WATCH_CLOSED") {
          stream.fail(error);
          return stream;
        }
        stream.close();
        throw error;
      }
      // The content was replaced and the follower has not heard of it: older watches are over.
      stream.close();
      await this.#follower.reset("the content was replaced");
    }
  }

  async #openPrologue(filter: ResourceFilter, options: WatchOptions): Promise<OpenedPrologue> {
    await this.#follower.start();
    const { resumeAfter } = options;
    return resumeAfter === undefined
      ? openSnapshotWatch(this.#streams, filter, options)
      : openResumed(this.#reads, filter, resumeAfter);
  }

  async snapshot(options: ReadManyOptions = {}): Promise<Snapshot> {
    this.#begin(options);
    const opening = openSnapshot(this.#connections, this.#reads, options, () =>
      this.#snapshots.delete(snapshot),
    );
    const snapshot = await opening;
    this.#snapshots.add(snapshot);
    return snapshot;
  }

  async restore(options: CallOptions = {}): Promise<Restore> {
    this.#begin(options);
    return createRestore({
      connections: this.#connections,
      limits: this.capabilities.limits,
      begin: () => this.#begin({}),
      committed: async () => {
        await this.#follower.reset("a snapshot was restored");
        this.#follower.announce();
      },
    });
  }

  async compactHistory(): Promise<void> {
    this.#begin({});
    await this.#history.compact();
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
    await this.#writes.idle();
    this.#streams.closeAll();
    await this.#lists.close();
    await this.#follower.stop();
    await this.#history.idle();
    await Promise.all(Array.from(this.#snapshots, (snapshot) => snapshot.close()));
    await this.#connections.close();
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

  async #collect(target: RowTarget, options: ReadManyOptions): Promise<readonly Resource[]> {
    const resources: Resource[] = [];
    for await (const { rows } of rowPages(this.#connections, this.#reads, target, options.signal)) {
      for (const resource of fromRows(rows, options.onDamaged)) resources.push(resource);
    }
    return resources;
  }

  /** Writes checked operations; in a batch errors carry their position. */
  async #write(
    operations: readonly BatchOperation[],
    options: WriteOptions,
    batch: boolean,
  ): Promise<readonly (Resource | undefined)[]> {
    const guards = [...(options.guards ?? [])];
    checkGuards(guards, this.capabilities);
    const prepared = operations.map(prepareOperation);
    const steps = [...guards.map(guardStep), ...prepared.map(operationStep)];
    const outcome = await abortable(this.#writes.add(steps), options.signal);
    return settle(prepared, guards, outcome, batch);
  }
}

/** The resource of a row that was looked up; the error of one that is damaged names it. */
function readResource(row: BodyRow & { readonly uid: string }, id: ResourceId): Resource {
  const key = JSON.stringify(resourceKey(id).split(KEY_SEPARATOR));
  const [resource] = decodeEach([{ ...row, key }], fromBodyRow, describeDamagedRow, undefined);
  return resource as Resource;
}

/** The operation, independent of what its caller does with the argument afterwards. */
function prepareOperation(operation: BatchOperation): BatchOperation {
  return operation.kind === "delete"
    ? { kind: "delete", id: freezeId(operation.id), version: operation.version }
    : { kind: "write", resource: freezeResource(operation.resource) };
}

function settle(
  operations: readonly BatchOperation[],
  guards: readonly Guard[],
  outcome: WriteOutcome,
  batch: boolean,
): readonly (Resource | undefined)[] {
  if (outcome.kind === "refused") {
    if (outcome.reason === 2) throw guardFailed(guards[outcome.step] as Guard);
    const index = outcome.step - guards.length;
    const operation = operations[index] as BatchOperation;
    const { id, version } =
      operation.kind === "write"
        ? { id: operation.resource.id, version: operation.resource.version }
        : operation;
    const code = outcome.reason === 3 ? "STORAGE_WRONG_UID" : "STORAGE_CAS_FAILURE";
    throw refused(code, id, version, batch ? index : undefined);
  }
  return operations.map((operation, index) => {
    if (operation.kind === "delete") return undefined;
    const revision = outcome.revisions.get(guards.length + index);
    return toReadonlyResource(withVersion(operation.resource, String(revision)));
  });
}
