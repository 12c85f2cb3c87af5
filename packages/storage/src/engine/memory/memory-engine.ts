import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "@stackwright/base/clock";
import type { StorageCapabilities } from "../../capabilities.ts";
import { StorageError } from "../../errors.ts";
import type { Commit } from "../../feed/commit.ts";
import { CommitLog } from "../../feed/commit-log.ts";
import { formatCursor, parseCursor } from "../../feed/cursor.ts";
import { EventFeed } from "../../feed/event-feed.ts";
import type { HistoryOptions } from "../../feed/history-options.ts";
import { backlogPrologue, pagedPrologue } from "../../feed/prologue.ts";
import { resolveWatchBuffer, type WatchBufferOptions } from "../../feed/watch-stream.ts";
import { freezeResource, toReadonlyResource } from "../../freeze.ts";
import { filterMatches, type ResourceFilter, resourceKey } from "../../key.ts";
import type { ListContent } from "../../list/continuation.ts";
import { toHead } from "../../list/resource-head.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../../list/types.ts";
import {
  checkDeletePreconditions,
  checkWritePreconditions,
  guardFailed,
  guardHolds,
  refused,
} from "../../preconditions.ts";
import type { Resource, ResourceId } from "../../resource.ts";
import type {
  Guard,
  ReadConsistency,
  Restore,
  Snapshot,
  Watch,
  WatchOptions,
} from "../../types.ts";
import { checkResource } from "../../validate.ts";
import type { CheckedWrite, EngineAdapter } from "../engine-adapter.ts";
import { MemoryLists } from "./memory-lists.ts";
import { indexResources, ResourceIndex } from "./resource-index.ts";
import { ScopeCache } from "./scope-cache.ts";
import { selectResources } from "./select.ts";

/** What a {@link MemoryEngine} is made of. */
interface MemoryEngineParts {
  readonly capabilities: StorageCapabilities;
  readonly watchBuffer?: WatchBufferOptions | undefined;
  readonly history?: HistoryOptions | undefined;
  /** Names the store in cursors. */
  readonly epoch?: string | undefined;
  readonly clock?: Pick<Clock, "monotonicMs"> | undefined;
  /** Called with every commit in the turn in which it happens. */
  readonly onCommit?: ((commit: Commit) => void) | undefined;
}

// Atomicity comes from the single thread: judging, changing and publishing are one synchronous
// block. Code that continues after an `await` therefore sees a commit and its event together.

/** A store in the memory of this process. */
export class MemoryEngine implements EngineAdapter {
  readonly capabilities: StorageCapabilities;
  readonly #feed: EventFeed;
  readonly #history: HistoryOptions;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #onCommit: ((commit: Commit) => void) | undefined;
  readonly #scopes = new ScopeCache();
  readonly #lists = new MemoryLists();
  readonly #freeze = (id: ResourceId): ResourceId => this.#scopes.freeze(id);
  #resources = new ResourceIndex();
  #log: CommitLog;
  /** Number of commits so far; each takes the next one as its version. */
  #revision = 0;
  /** Changes with every restore, so that cursors of the old content are recognised. */
  #epoch: string;
  #restores = 0;

  constructor(options: MemoryEngineParts) {
    this.capabilities = options.capabilities;
    this.#onCommit = options.onCommit;
    // Published in the turn of the commit, so before its acknowledgement.
    this.#feed = new EventFeed(resolveWatchBuffer(options.watchBuffer), async () => undefined);
    this.#history = options.history ?? {};
    this.#clock = options.clock ?? systemClock;
    this.#log = new CommitLog(this.#history, 0, this.#clock);
    this.#epoch = options.epoch ?? randomUUID();
  }

  async read(_consistency: ReadConsistency, id: ResourceId): Promise<Resource | undefined> {
    const stored = this.#resources.get(resourceKey(id));
    return stored === undefined ? undefined : toReadonlyResource(stored);
  }

  async write({
    operations,
    guards,
    batch,
  }: CheckedWrite): Promise<readonly (Resource | undefined)[]> {
    this.#checkGuards(guards);
    const steps = operations.map((operation, position) => {
      const index = batch ? position : undefined;
      if (operation.kind === "write") {
        const key = resourceKey(operation.resource.id);
        this.#checkWritePreconditions(key, operation.resource, index);
        return () => this.#put(key, operation.resource);
      }
      const key = resourceKey(operation.id);
      const doomed = this.#checkDeletePreconditions(key, operation.id, operation.version, index);
      return () => {
        if (doomed !== undefined) this.#drop(key, doomed);
        return undefined;
      };
    });
    // All are judged and none can fail any more: only now the first is applied.
    return steps.map((apply) => apply());
  }

  async list(_consistency: ReadConsistency, filter: ResourceFilter): Promise<readonly Resource[]> {
    return this.#resources.select(filter).map(toReadonlyResource);
  }

  async listPage(
    _consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPage> {
    const page = this.#page("resources", filter, options);
    return { ...page, resources: page.resources.map(toReadonlyResource) };
  }

  async listHeads(
    _consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPage<ResourceHead>> {
    const page = this.#page("heads", filter, options);
    return { ...page, resources: page.resources.map(toHead) };
  }

  async listByOwner(owner: ResourceId): Promise<readonly Resource[]> {
    return this.#resources.ownedBy(owner).map(toReadonlyResource);
  }

  async watch(filter: ResourceFilter, options: WatchOptions): Promise<Watch> {
    const stream = this.#feed.open(filter, options.bookmarks);
    if (options.resumeAfter === undefined) {
      stream.start(
        pagedPrologue({
          revision: this.#revision,
          resources: selectResources(this.#resources.snapshot(), filter),
          marker: options.endOfSnapshot === true,
          cursor: formatCursor(this.#epoch, this.#revision),
        }),
      );
      return stream;
    }
    const missed = this.#missedSince(options.resumeAfter);
    if (missed === undefined) {
      stream.fail(
        new StorageError("STORAGE_WATCH_CLOSED", "the history after the cursor is not retained"),
      );
    } else {
      const matching = missed.filter((commit) => filterMatches(filter, commit.resource));
      stream.start(backlogPrologue(this.#revision, matching));
    }
    return stream;
  }

  async snapshot(): Promise<Snapshot> {
    const resources = this.#resources.snapshot();
    const close = (): Promise<void> => Promise.resolve();
    return {
      cursor: formatCursor(this.#epoch, this.#revision),
      async *[Symbol.asyncIterator]() {
        for (const [, resource] of resources.entriesFrom("")) yield toReadonlyResource(resource);
      },
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  async restore(checkOpen: () => void): Promise<Restore> {
    let staged: Resource[] | undefined = [];
    const abort = (): Promise<void> => {
      staged = undefined;
      return Promise.resolve();
    };
    const staging = (): Resource[] => {
      checkOpen();
      if (staged === undefined) {
        throw new StorageError("STORAGE_INVALID_ARGUMENT", "the restore is over");
      }
      return staged;
    };
    return {
      apply: async (resource) => {
        const target = staging();
        checkResource(resource, this.capabilities.limits);
        if (resource.version === "") {
          throw new StorageError("STORAGE_INVALID_ARGUMENT", "a restored resource has a version", {
            details: { field: "resource.version" },
          });
        }
        target.push(freezeResource(resource, resource.version, this.#freeze));
      },
      commit: async () => {
        this.#replaceAll(staging());
        staged = undefined;
      },
      abort,
      [Symbol.asyncDispose]: abort,
    };
  }

  async close(): Promise<void> {
    this.#lists.endAll();
    this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", "the backend was closed"));
  }

  #page(content: ListContent, filter: ResourceFilter, options: ListPageOptions): ListPage {
    return this.#lists.page(
      content,
      filter,
      this.#epoch,
      () => this.#resources.snapshot(),
      options,
    );
  }

  #checkGuards(guards: readonly Guard[]): void {
    for (const guard of guards) {
      if (!guardHolds(headOf(this.#resources.get(resourceKey(guard.id))), guard)) {
        throw guardFailed(guard);
      }
    }
  }

  #checkWritePreconditions(key: string, resource: Resource, index?: number): void {
    const stored = headOf(this.#resources.get(key));
    const refusal = checkWritePreconditions(stored, resource.id.uid, resource.version);
    if (refusal !== undefined) throw refused(refusal, resource.id, resource.version, index);
  }

  /** The resource to delete, `undefined` when the delete is a success without effect. */
  #checkDeletePreconditions(
    key: string,
    id: ResourceId,
    version: string,
    index?: number,
  ): Resource | undefined {
    const stored = this.#resources.get(key);
    const verdict = checkDeletePreconditions(headOf(stored), id.uid, version);
    if (verdict === "STORAGE_CAS_FAILURE") throw refused(verdict, id, version, index);
    return verdict === "delete" ? stored : undefined;
  }

  #put(key: string, resource: Resource): Resource {
    const stored = freezeResource(resource, String(this.#revision + 1), this.#freeze);
    this.#resources.set(key, stored, this.#resources.get(key));
    this.#commit("upsert", stored);
    return toReadonlyResource(stored);
  }

  #drop(key: string, stored: Resource): void {
    this.#resources.delete(key, stored);
    this.#commit("delete", stored);
  }

  #commit(operation: Commit["operation"], resource: Resource): void {
    this.#revision += 1;
    const cursor = formatCursor(this.#epoch, this.#revision);
    const commit: Commit = { revision: this.#revision, operation, resource, cursor };
    this.#log.push(commit);
    this.#feed.publish(commit);
    this.#onCommit?.(commit);
  }

  #missedSince(cursor: string): readonly Commit[] | undefined {
    const revision = parseCursor(cursor, this.#epoch);
    if (revision === undefined || revision > this.#revision) return undefined;
    return this.#log.since(revision);
  }

  #replaceAll(resources: readonly Resource[]): void {
    this.#resources = indexResources(resources);
    for (const { version } of resources) {
      const number = Number(version);
      if (Number.isSafeInteger(number)) this.#revision = Math.max(this.#revision, number);
    }
    this.#restores += 1;
    this.#lists.endAll();
    this.#epoch = `${this.#epoch.split("~")[0]}~${this.#restores}`;
    this.#log = new CommitLog(this.#history, this.#revision, this.#clock);
    this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", "a snapshot was restored"));
  }
}

function headOf(stored: Resource | undefined): { uid: string; version: string } | undefined {
  return stored === undefined ? undefined : { uid: stored.id.uid, version: stored.version };
}
