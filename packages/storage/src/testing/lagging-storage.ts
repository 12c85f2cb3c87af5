import { setTimeout as delay } from "node:timers/promises";
import type { StorageCapabilities } from "../capabilities.ts";
import { EngineBackend } from "../engine/engine-backend.ts";
import { MemoryEngine } from "../engine/memory/memory-engine.ts";
import { MemoryLists } from "../engine/memory/memory-lists.ts";
import { ResourceIndex } from "../engine/memory/resource-index.ts";
import { selectResources } from "../engine/memory/select.ts";
import { MEMORY_CAPABILITIES } from "../engine/memory.ts";
import { StorageError } from "../errors.ts";
import type { Commit } from "../feed/commit.ts";
import { EventFeed } from "../feed/event-feed.ts";
import { pagedPrologue } from "../feed/prologue.ts";
import { resolveWatchBuffer } from "../feed/watch-stream.ts";
import { toReadonlyResource } from "../freeze.ts";
import { type ResourceFilter, resourceKey } from "../key.ts";
import type { ListContent } from "../list/continuation.ts";
import { toHead } from "../list/resource-head.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../list/types.ts";
import { checkReadResult } from "../preconditions.ts";
import type { Resource, ResourceId, Tenancy, UnversionedType } from "../resource.ts";
import type { CallOptions, ReadConsistency, Watch, WatchOptions } from "../types.ts";
import { checkConsistency, checkFilter, checkId, unsupported } from "../validate.ts";
import { DelegatingStorage } from "./delegate.ts";
import type { OpenOptions } from "./harness.ts";
import { createRandom } from "./random.ts";

/** What a {@link LaggingStorage} offers: it cannot resume watches and has no restore. */
export const LAGGING_CAPABILITIES: StorageCapabilities = Object.freeze({
  ...MEMORY_CAPABILITIES,
  engine: "lagging",
  resume: false,
  snapshot: false,
  restore: false,
});

// A leader in memory and a follower that applies its commits in order, but up to some milliseconds
// late. Writes and strong reads go to the leader; eventual reads, watches and owner lists are the
// follower's. It shows that the conformance suite asks no more of eventual reads than the contract.

/** A store whose eventual reads and watches are as far behind as the contract allows. */
export class LaggingStorage extends DelegatingStorage {
  readonly #replica = new ResourceIndex();
  readonly #feed: EventFeed;
  readonly #lists = new MemoryLists();
  /** Commits of this turn that are not on their way to the follower yet. */
  #arrived: Commit[] = [];
  #applied = 0;
  #replication: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(seed: number, maxLagMs: number, options: OpenOptions = {}) {
    const random = createRandom(seed);
    const leader = new MemoryEngine({
      capabilities: LAGGING_CAPABILITIES,
      onCommit: (commit) => {
        this.#arrived.push(commit);
        if (this.#arrived.length > 1) return;
        const dueAt = performance.now() + random.below(maxLagMs + 1);
        this.#replication = this.#applyLater(this.#replication, dueAt);
      },
    });
    super(new EngineBackend(leader));
    this.#feed = new EventFeed(resolveWatchBuffer(options.watchBuffer));
  }

  override async read(
    consistency: ReadConsistency,
    id: ResourceId,
    options: CallOptions = {},
  ): Promise<Resource> {
    if (consistency !== "eventual" || this.#closed) {
      return this.#caughtUp(this.inner.read(consistency, id, options));
    }
    options.signal?.throwIfAborted();
    checkId(id, this.capabilities.limits);
    const stored = this.#replica.get(resourceKey(id));
    return checkReadResult(stored && toReadonlyResource(stored), id);
  }

  override async list(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: CallOptions = {},
  ): Promise<readonly Resource[]> {
    if (consistency === "strong" || this.#closed) {
      return this.#caughtUp(this.inner.list(consistency, type, tenancy, namePrefix, options));
    }
    options.signal?.throwIfAborted();
    checkConsistency(consistency);
    checkFilter(type, tenancy, namePrefix, this.capabilities.limits);
    return this.#replica.select({ type, tenancy, namePrefix }).map(toReadonlyResource);
  }

  override async listPage(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ListPageOptions = {},
  ): Promise<ListPage> {
    const filter = { type, tenancy, namePrefix };
    const page = await this.#page("resources", consistency, filter, options);
    return { ...page, resources: page.resources.map(toReadonlyResource) };
  }

  override async listHeads(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ListPageOptions = {},
  ): Promise<ListPage<ResourceHead>> {
    const filter = { type, tenancy, namePrefix };
    const page = await this.#page("heads", consistency, filter, options);
    return { ...page, resources: page.resources.map(toHead) };
  }

  override async listByOwner(
    id: ResourceId,
    options: CallOptions = {},
  ): Promise<readonly Resource[]> {
    if (this.#closed) return this.inner.listByOwner(id, options);
    options.signal?.throwIfAborted();
    checkId(id, this.capabilities.limits);
    return this.#replica.ownedBy(id).map(toReadonlyResource);
  }

  override async watchList(
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: WatchOptions = {},
  ): Promise<Watch> {
    if (this.#closed) return this.inner.watchList(type, tenancy, namePrefix, options);
    options.signal?.throwIfAborted();
    checkFilter(type, tenancy, namePrefix, this.capabilities.limits);
    if (options.resumeAfter !== undefined) throw unsupported(this.capabilities, "resumed watches");
    // What was acknowledged before the call is part of the snapshot: the follower catches up first.
    await this.#replication;
    const filter = { type, tenancy, namePrefix };
    const stream = this.#feed.open(filter);
    stream.start(
      pagedPrologue({
        revision: this.#applied,
        resources: selectResources(this.#replica.snapshot(), filter),
        marker: options.endOfSnapshot === true,
      }),
    );
    return stream;
  }

  override snapshot(): Promise<never> {
    return Promise.reject(unsupported(this.capabilities, "snapshots"));
  }

  override restore(): Promise<never> {
    return Promise.reject(unsupported(this.capabilities, "restore"));
  }

  override async close(): Promise<void> {
    this.#closed = true;
    this.#lists.endAll();
    this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", "the backend was closed"));
    await this.inner.close();
  }

  /** Pages are the follower's, which catches up first where they have to be strong. */
  async #page(
    content: ListContent,
    consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPage> {
    const { type, tenancy, namePrefix } = filter;
    if (this.#closed) return this.inner.listPage(consistency, type, tenancy, namePrefix, options);
    options.signal?.throwIfAborted();
    checkConsistency(consistency);
    checkFilter(type, tenancy, namePrefix, this.capabilities.limits);
    if (consistency === "strong") await this.#replication;
    return this.#lists.page(content, filter, "lagging", () => this.#replica.snapshot(), options);
  }

  /** No later read of this instance may be older than a strong one: the follower catches up first. */
  async #caughtUp<T>(strong: Promise<T>): Promise<T> {
    try {
      return await strong;
    } finally {
      await this.#replication;
    }
  }

  /** Applies the commits of one turn, all at once: a batch is never seen in part. */
  async #applyLater(earlier: Promise<void>, dueAt: number): Promise<void> {
    await Promise.resolve();
    const commits = this.#arrived.splice(0);
    await earlier;
    const left = dueAt - performance.now();
    if (left > 0) await delay(left);
    for (const { resource, operation } of commits) {
      const key = resourceKey(resource.id);
      const replaced = this.#replica.get(key);
      if (operation === "upsert") this.#replica.set(key, resource, replaced);
      else if (replaced !== undefined) this.#replica.delete(key, replaced);
    }
    this.#applied = commits.at(-1)?.revision ?? this.#applied;
    for (const { revision, resource, operation } of commits) {
      this.#feed.publish({ revision, operation, resource });
    }
  }
}
