import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { StorageCapabilities } from "../../capabilities.ts";
import { decodeEach } from "../../damaged-resource.ts";
import { StorageError } from "../../errors.ts";
import type { CommitPage } from "../../feed/commit-history.ts";
import { EventFeed } from "../../feed/event-feed.ts";
import type { HistorySize, ResolvedHistory } from "../../feed/history-options.ts";
import type { ResolvedWatchBuffer } from "../../feed/watch-stream.ts";
import { toReadonlyResource, withVersion } from "../../freeze.ts";
import { KEY_SEPARATOR, type ResourceFilter, resourceKey } from "../../key.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../../list/types.ts";
import { guardFailed, refused } from "../../preconditions.ts";
import type { Resource, ResourceId } from "../../resource.ts";
import type {
  BatchOperation,
  Guard,
  ReadConsistency,
  ReadManyOptions,
  Restore,
  Snapshot,
  Watch,
  WatchOptions,
} from "../../types.ts";
import type { CheckedWrite, EngineAdapter } from "../engine-adapter.ts";
import { copyOperation, targetOf } from "../operation.ts";
import { startWatch } from "../start-watch.ts";
import { ChangeFollower } from "./change-follower.ts";
import type { Connections } from "./connections.ts";
import { DurableReads } from "./durable-reads.ts";
import { readHistoryBounds } from "./history-bounds.ts";
import { HistoryKeeper } from "./history-keeper.ts";
import { type OpenedPrologue, openResumed, openSnapshotWatch } from "./open-watch.ts";
import { PagedLists, toListedHead } from "./paged-lists.ts";
import { readCommits } from "./read-commits.ts";
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

/** What a {@link PostgresEngine} is made of. */
interface PostgresEngineParts {
  readonly connections: Connections;
  readonly capabilities: StorageCapabilities;
  readonly watchBuffer: ResolvedWatchBuffer;
  readonly history: ResolvedHistory | undefined;
  readonly clock: Clock;
  readonly pollMs: number;
  readonly logger: Logger | undefined;
}

// All reads go to the primary, where a commit is visible to every statement that starts after it was
// acknowledged or seen in the history. That is linearizability, and it is monotonicity between
// watches and reads: events are read from the history, so a reader that has one can read its commit.

/** A store in PostgreSQL. */
export class PostgresEngine implements EngineAdapter {
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

  constructor(parts: PostgresEngineParts) {
    const { connections, logger } = parts;
    this.capabilities = parts.capabilities;
    this.#connections = connections;
    this.#reads = new DurableReads(connections);
    this.#feed = new EventFeed(parts.watchBuffer, async () => this.#follower.catchUp());
    this.#follower = new ChangeFollower(connections, this.#reads, this.#feed, parts.pollMs, logger);
    this.#lists = new PagedLists(connections, this.#reads);
    this.#streams = new RowStreams(connections, this.#reads);
    this.#history = new HistoryKeeper({
      connections,
      bounds: parts.history,
      clock: parts.clock,
      logger,
      before: () => this.#follower.catchUp(),
    });
    this.#writes = new WriteGroups(connections, (written) => {
      if (written.heard) this.#follower.announce(written.revision);
      else this.#follower.hint(written.revision);
      this.#history.committed(written);
    });
  }

  async read(_consistency: ReadConsistency, id: ResourceId): Promise<Resource | undefined> {
    const { row } = await this.#reads.run((sql) => readRow(sql, id));
    return row === undefined ? undefined : readResource(row, id);
  }

  async write(request: CheckedWrite): Promise<readonly (Resource | undefined)[]> {
    const guards = [...request.guards];
    const prepared = request.operations.map(copyOperation);
    const steps = [...guards.map(guardStep), ...prepared.map(operationStep)];
    const outcome = await this.#writes.add(steps);
    return settle({ operations: prepared, guards, batch: request.batch }, outcome);
  }

  list(
    _consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ReadManyOptions,
  ): Promise<readonly Resource[]> {
    return this.#collect({ kind: "filter", filter }, options);
  }

  async listPage(
    _consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPage> {
    const { rows, continuation } = await this.#lists.page("resources", filter, options);
    const resources = fromRows(rows, options.onDamaged);
    return { resources, ...(continuation === undefined ? {} : { continuation }) };
  }

  async listHeads(
    _consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPage<ResourceHead>> {
    const { rows, continuation } = await this.#lists.page("heads", filter, options);
    const resources = decodeEach(rows, toListedHead, describeDamagedRow, options.onDamaged);
    return { resources, ...(continuation === undefined ? {} : { continuation }) };
  }

  listByOwner(owner: ResourceId, options: ReadManyOptions): Promise<readonly Resource[]> {
    return this.#collect({ kind: "owner", owner: ownerKey(owner) as Buffer }, options);
  }

  async watch(filter: ResourceFilter, options: WatchOptions): Promise<Watch> {
    for (;;) {
      const stream = this.#feed.open(filter, options.bookmarks);
      const opening = this.#openPrologue(filter, options);
      const prologue = await startWatch(stream, opening, options.signal);
      if (prologue === undefined || prologue.epoch === this.#follower.epoch) return stream;
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

  async snapshot(options: ReadManyOptions): Promise<Snapshot> {
    const opening = openSnapshot(this.#connections, this.#reads, options, () =>
      this.#snapshots.delete(snapshot),
    );
    const snapshot = await opening;
    this.#snapshots.add(snapshot);
    return snapshot;
  }

  async restore(checkOpen: () => void): Promise<Restore> {
    return createRestore({
      connections: this.#connections,
      limits: this.capabilities.limits,
      begin: checkOpen,
      committed: async () => {
        await this.#follower.reset("a snapshot was restored");
        this.#follower.announce();
      },
    });
  }

  async serverMs(): Promise<number> {
    const [row] = await this.#connections.run(
      "read",
      (sql) => sql<[{ ms: number }]>`
        SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms`,
    );
    return row.ms;
  }

  async historySize(): Promise<HistorySize> {
    return this.#history.size();
  }

  async historyBounds(): Promise<ResolvedHistory> {
    return readHistoryBounds(this.#connections);
  }

  async compactHistory(): Promise<void> {
    await this.#history.compact();
  }

  async readCommits(after: number): Promise<CommitPage> {
    const { line, compacted, revision, commits } = await this.#reads.run((sql) =>
      readCommits(sql, after),
    );
    return { line, compacted, revision, commits };
  }

  async close(): Promise<void> {
    this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", "the backend was closed"));
    await this.#writes.idle();
    this.#streams.closeAll();
    await this.#lists.close();
    const historyStopped = this.#history.stop();
    await this.#follower.stop();
    await historyStopped;
    await Promise.all(Array.from(this.#snapshots, (snapshot) => snapshot.close()));
    await this.#connections.close();
  }

  async #collect(target: RowTarget, options: ReadManyOptions): Promise<readonly Resource[]> {
    const resources: Resource[] = [];
    for await (const { rows } of rowPages(this.#connections, this.#reads, target, options.signal)) {
      for (const resource of fromRows(rows, options.onDamaged)) resources.push(resource);
    }
    return resources;
  }
}

/** The resource of a row that was looked up; the error of one that is damaged names it. */
function readResource(row: BodyRow & { readonly uid: string }, id: ResourceId): Resource {
  const key = JSON.stringify(resourceKey(id).split(KEY_SEPARATOR));
  const [resource] = decodeEach([{ ...row, key }], fromBodyRow, describeDamagedRow, undefined);
  return resource as Resource;
}

function settle(
  { operations, guards, batch }: CheckedWrite,
  outcome: WriteOutcome,
): readonly (Resource | undefined)[] {
  if (outcome.kind === "refused") {
    if (outcome.reason === 2) throw guardFailed(guards[outcome.step] as Guard);
    const index = outcome.step - guards.length;
    const { id, version } = targetOf(operations[index] as BatchOperation);
    const code = outcome.reason === 3 ? "STORAGE_WRONG_UID" : "STORAGE_CAS_FAILURE";
    throw refused(code, id, version, batch ? index : undefined);
  }
  return operations.map((operation, index) => {
    if (operation.kind === "delete") return undefined;
    const revision = outcome.revisions.get(guards.length + index);
    return toReadonlyResource(withVersion(operation.resource, String(revision)));
  });
}
