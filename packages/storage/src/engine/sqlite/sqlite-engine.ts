import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { StorageCapabilities } from "../../capabilities.ts";
import { ResourceEncoder } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import { AgeTimer } from "../../feed/age-timer.ts";
import type { CommitPage } from "../../feed/commit-history.ts";
import { formatCursor } from "../../feed/cursor.ts";
import { EventFeed } from "../../feed/event-feed.ts";
import type { HistorySize, ResolvedHistory } from "../../feed/history-options.ts";
import type { ResolvedWatchBuffer } from "../../feed/watch-stream.ts";
import { freezeId, freezeResource, toReadonlyResource, withVersion } from "../../freeze.ts";
import { lifetimeKey, type ResourceFilter, resourceKey } from "../../key.ts";
import type { ListContent } from "../../list/continuation.ts";
import { resolvePageBounds } from "../../list/page-bounds.ts";
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
import { startWatch } from "../start-watch.ts";
import { ChangePoller } from "./change-poller.ts";
import { decodeRows } from "./decode-rows.ts";
import { historyCommit } from "./history-commit.ts";
import { openResumed, openSnapshotWatch } from "./open-watch.ts";
import {
  type BodyRow,
  isWriteRow,
  type ListPageRows,
  type ScanTarget,
  type StepResult,
  type WriteOutcome,
  type WriteRequest,
  type WriteStep,
} from "./protocol.ts";
import { createRestore } from "./restore-handle.ts";
import { fromBodyRow, fromHeadRow, toGuardRow, toWriteRow } from "./rows.ts";
import { scanPages } from "./scan-pages.ts";
import type { StoreClient } from "./store-client.ts";
import { WriteQueue } from "./write-queue.ts";

/** What a {@link SqliteEngine} is made of. */
interface SqliteEngineParts {
  readonly client: StoreClient;
  readonly epoch: string;
  readonly capabilities: StorageCapabilities;
  readonly watchBuffer: ResolvedWatchBuffer;
  /** Given for read-only instances: how often they look for commits. */
  readonly pollMs: number | undefined;
  readonly clock: Clock;
  /** How often history that is too old is looked for, where there is a longest age. */
  readonly ageCheckMs: number | undefined;
  readonly logger: Logger | undefined;
}

// The worker answers in the order in which it was asked, and only after its commits. Commits are
// published when the answer to their group arrives, which is before the answer to any read that the
// worker took up after them is handled: no reader and no watcher on this side can see them
// in another order.

/** The side of the sqlite engine that is in the caller's thread. */
export class SqliteEngine implements EngineAdapter {
  readonly capabilities: StorageCapabilities;
  readonly #client: StoreClient;
  readonly #feed: EventFeed;
  readonly #encoder = new ResourceEncoder();
  readonly #writes: WriteQueue;
  readonly #poller: ChangePoller | undefined;
  /** Epoch of the content, for the cursors of this instance's commits. */
  #epoch: string;
  #restores = 0;
  readonly #clock: Clock;
  readonly #ages: AgeTimer | undefined;
  readonly #logger: Logger | undefined;

  constructor(parts: SqliteEngineParts) {
    this.capabilities = parts.capabilities;
    this.#client = parts.client;
    this.#epoch = parts.epoch;
    // The only writer publishes each commit before it acknowledges it.
    this.#feed = new EventFeed(parts.watchBuffer, async () => this.#poller?.catchUp());
    const { clock } = parts;
    this.#clock = clock;
    this.#logger = parts.logger;
    const { client } = parts;
    this.#writes = new WriteQueue(
      (requests) => client.call("write", [clock.wallMs(), requests]),
      () => client.gathered(),
    );
    parts.client.onLost = (error) => this.#lose(error);
    if (parts.pollMs !== undefined) {
      this.#poller = new ChangePoller(parts.client, this.#feed, parts.pollMs);
    }
    if (parts.ageCheckMs !== undefined) {
      this.#ages = new AgeTimer(clock, parts.ageCheckMs, async () => this.#expire());
    }
  }

  async read(_consistency: ReadConsistency, id: ResourceId): Promise<Resource | undefined> {
    const row = await this.#client.call("read", resourceKey(id));
    const [stored] = row === undefined ? [] : await decodeRows(this.#client, [row], fromBodyRow);
    return stored;
  }

  write({ operations, guards, batch }: CheckedWrite): Promise<readonly (Resource | undefined)[]> {
    const prepared = operations.map((operation) => prepareOperation(operation, this.#encoder));
    const steps = prepared.map((operation) => operation.step);
    const [only] = steps;
    const single =
      steps.length === 1 && guards.length === 0 && only !== undefined && isWriteRow(only);
    const request: WriteRequest = single ? only : [steps, guards.map(toGuardRow)];
    const judged = [...guards];
    return this.#writes.add(request, (outcome) => this.#settle(prepared, judged, outcome, batch));
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
    const { rows, ...rest } = await this.#page("resources", filter, options);
    const { onDamaged } = options;
    return { ...rest, resources: await decodeRows(this.#client, rows, fromBodyRow, onDamaged) };
  }

  async listHeads(
    _consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPage<ResourceHead>> {
    const { rows, ...rest } = await this.#page("heads", filter, options);
    const { onDamaged } = options;
    return { ...rest, resources: await decodeRows(this.#client, rows, fromHeadRow, onDamaged) };
  }

  listByOwner(owner: ResourceId, options: ReadManyOptions): Promise<readonly Resource[]> {
    return this.#collect({ kind: "owner", owner: lifetimeKey(owner) }, options);
  }

  async watch(filter: ResourceFilter, options: WatchOptions): Promise<Watch> {
    const { resumeAfter, signal } = options;
    const stream = this.#feed.open(filter, options.bookmarks);
    this.#poller?.start();
    const opening =
      resumeAfter === undefined
        ? openSnapshotWatch(this.#client, filter, options)
        : openResumed(this.#client, filter, resumeAfter);
    await startWatch(stream, opening, signal);
    return stream;
  }

  async snapshot(options: ReadManyOptions): Promise<Snapshot> {
    const client = this.#client;
    const pages = scanPages(client, { kind: "all" });
    // The first page fixes the point in time; it is fetched now, not at the first iteration.
    const first = await pages.next();
    const close = async (): Promise<void> => {
      await pages.return(undefined);
    };
    return {
      ...(first.value !== undefined && {
        cursor: formatCursor(first.value.epoch, first.value.revision),
      }),
      async *[Symbol.asyncIterator]() {
        try {
          for (let page = first; page.done !== true; page = await pages.next()) {
            yield* await decodeRows(client, page.value.rows, fromBodyRow, options.onDamaged);
          }
        } finally {
          await close();
        }
      },
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  async restore(checkOpen: () => void): Promise<Restore> {
    if (this.#poller !== undefined) throw new StorageError("STORAGE_READ_ONLY");
    return createRestore({
      client: this.#client,
      limits: this.capabilities.limits,
      id: (this.#restores += 1),
      begin: checkOpen,
      committed: (epoch) => {
        this.#epoch = epoch;
        this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", "a snapshot was restored"));
      },
    });
  }

  async backup(path: string): Promise<void> {
    await this.#client.call("backup", path);
  }

  async historySize(): Promise<HistorySize> {
    return this.#client.call("historySize", undefined);
  }

  async historyBounds(): Promise<ResolvedHistory> {
    return this.#client.call("historyBounds", undefined);
  }

  async compactHistory(keep: number): Promise<void> {
    await this.#client.call("compact", { keep });
  }

  async readCommits(after: number): Promise<CommitPage> {
    const { commits, ...page } = await this.#client.call("commits", after);
    return { ...page, commits: commits.map(historyCommit) };
  }

  async #expire(): Promise<void> {
    try {
      await this.#client.call("expire", this.#clock.wallMs());
    } catch (error) {
      // On a full disk, say. The next turn tries again.
      const { message } = StorageError.from(error);
      this.#logger?.warn({ message }, "old history could not be forgotten");
    }
  }

  /** Ends everything after the worker thread was lost. */
  #lose(error: StorageError): void {
    this.#ages?.[Symbol.dispose]();
    this.#poller?.stop();
    this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", error.message, { cause: error }));
  }

  async close(): Promise<void> {
    this.#poller?.stop();
    this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", "the backend was closed"));
    await this.#writes.idle();
    this.#ages?.[Symbol.dispose]();
    await this.#client.close();
  }

  async #page(
    content: ListContent,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPageRows> {
    const bounds = resolvePageBounds(options);
    const { continueAfter } = options;
    return this.#client.call("listPage", { content, filter, bounds, continueAfter });
  }

  async #collect(
    target: ScanTarget,
    { signal, onDamaged }: ReadManyOptions,
  ): Promise<readonly Resource[]> {
    const resources: Resource[] = [];
    for await (const { rows } of scanPages(this.#client, target, signal)) {
      const page = await decodeRows(this.#client, rows, fromBodyRow, onDamaged);
      for (const resource of page) resources.push(resource);
    }
    return resources;
  }

  #settle(
    operations: readonly PreparedOperation[],
    guards: readonly Guard[],
    outcome: WriteOutcome,
    batch: boolean,
  ): readonly (Resource | undefined)[] {
    if (typeof outcome === "number") return this.#publishAll(operations, [outcome]);
    if (!("kind" in outcome)) return this.#publishAll(operations, outcome);
    if (outcome.kind === "guard") throw guardFailed(guards[outcome.index] as Guard);
    const { id, version } = operations[outcome.index] as PreparedOperation;
    throw refused(outcome.code, id, version, batch ? outcome.index : undefined);
  }

  #publishAll(
    operations: readonly PreparedOperation[],
    results: readonly StepResult[],
  ): readonly (Resource | undefined)[] {
    return operations.map((operation, index) =>
      this.#publish(operation, results[index] as StepResult),
    );
  }

  #publish(operation: PreparedOperation, result: StepResult): Resource | undefined {
    if (result === null) return undefined;
    if (typeof result !== "number") {
      this.#publishDelete(operation.id, ...result);
      return undefined;
    }
    const resource = withVersion(operation.resource as Resource, String(result));
    const cursor = formatCursor(this.#epoch, result);
    const watched = this.#feed.publish({
      revision: result,
      operation: "upsert",
      resource,
      cursor,
    });
    // Without a watcher no other code has the bytes.
    return watched ? toReadonlyResource(resource) : resource;
  }

  #publishDelete(id: ResourceId, revision: number, row: BodyRow): void {
    try {
      const resource = fromBodyRow(row);
      const cursor = formatCursor(this.#epoch, revision);
      this.#feed.publish({ revision, operation: "delete", resource, cursor });
    } catch (error) {
      // What was deleted was damaged: that is how it is repaired. Its watches cannot be given what it was.
      this.#feed.publishDamaged({ revision, id, reason: StorageError.from(error).message });
    }
  }
}

/** A checked operation, independent of what its caller does with the argument afterwards. */
interface PreparedOperation {
  readonly step: WriteStep;
  readonly id: ResourceId;
  readonly version: string;
  /** Frozen; of writes only. */
  readonly resource?: Resource;
}

function prepareOperation(operation: BatchOperation, encoder: ResourceEncoder): PreparedOperation {
  if (operation.kind === "delete") {
    const id = freezeId(operation.id);
    const { version } = operation;
    const step: WriteStep = [resourceKey(id), id.uid, version];
    return { step, id, version };
  }
  const resource = freezeResource(operation.resource);
  return {
    step: toWriteRow(resource, encoder),
    id: resource.id,
    version: resource.version,
    resource,
  };
}
