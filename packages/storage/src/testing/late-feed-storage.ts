import { setTimeout as delay } from "node:timers/promises";
import type { StorageCapabilities } from "../capabilities.ts";
import { EngineBackend } from "../engine/engine-backend.ts";
import { MemoryEngine } from "../engine/memory/memory-engine.ts";
import { ResourceIndex } from "../engine/memory/resource-index.ts";
import { selectResources } from "../engine/memory/select.ts";
import { MEMORY_CAPABILITIES } from "../engine/memory.ts";
import { StorageError } from "../errors.ts";
import type { Commit } from "../feed/commit.ts";
import { EventFeed } from "../feed/event-feed.ts";
import { pagedPrologue } from "../feed/prologue.ts";
import { resolveWatchBuffer } from "../feed/watch-stream.ts";
import { resourceKey } from "../key.ts";
import type { Tenancy, UnversionedType } from "../resource.ts";
import type { StorageBackend, Watch, WatchOptions } from "../types.ts";
import { DelegatingStorage } from "./delegate.ts";
import { createRandom, type Random } from "./random.ts";

/** What a {@link LateFeedStorage} offers: others may write too, and its watches do not resume. */
const LATE_FEED_CAPABILITIES: StorageCapabilities = Object.freeze({
  ...MEMORY_CAPABILITIES,
  engine: "late feed",
  shared: true,
  resume: false,
  snapshot: false,
  restore: false,
});

/** A store of instances that read what is committed, and learn of commits later: as those of PostgreSQL and etcd. */
export class LateFeedStore {
  readonly #random: Random;
  readonly #maxLagMs: number;
  readonly #instances = new Set<LateFeedStorage>();
  readonly #backend: StorageBackend;
  readonly #content = new ResourceIndex();
  #revision = 0;

  constructor(seed: number, maxLagMs: number) {
    this.#random = createRandom(seed);
    this.#maxLagMs = maxLagMs;
    this.#backend = new EngineBackend(
      new MemoryEngine({
        capabilities: LATE_FEED_CAPABILITIES,
        onCommit: (commit) => this.#committed(commit),
      }),
    );
  }

  open(): LateFeedStorage {
    const instance = new LateFeedStorage(this.#backend, this, () =>
      this.#random.below(this.#maxLagMs + 1),
    );
    this.#instances.add(instance);
    return instance;
  }

  /** What is committed at this moment. */
  get content(): ResourceIndex {
    return this.#content;
  }

  get revision(): number {
    return this.#revision;
  }

  #committed(commit: Commit): void {
    const key = resourceKey(commit.resource.id);
    const stored = this.#content.get(key);
    if (commit.operation === "upsert") this.#content.set(key, commit.resource, stored);
    else if (stored !== undefined) this.#content.delete(key, stored);
    this.#revision = commit.revision;
    for (const instance of this.#instances) instance.arrive(commit);
  }
}

/** One instance: every commit comes to its watches some milliseconds late, so that a batch may come in parts. */
class LateFeedStorage extends DelegatingStorage {
  readonly #store: LateFeedStore;
  readonly #feed: EventFeed;
  readonly #lagMs: () => number;
  readonly #arrived: Commit[] = [];
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(inner: StorageBackend, store: LateFeedStore, lagMs: () => number) {
    super(inner);
    this.#store = store;
    this.#lagMs = lagMs;
    this.#feed = new EventFeed(resolveWatchBuffer(), async () => {
      while (this.#arrived.length > 0) await this.#running;
    });
  }

  arrive(commit: Commit): void {
    if (this.#isClosed) return;
    this.#arrived.push(commit);
    this.#running ??= this.#publish().finally(() => {
      this.#running = undefined;
    });
  }

  override async watchList(
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: WatchOptions = {},
  ): Promise<Watch> {
    if (this.#isClosed) return this.inner.watchList(type, tenancy, namePrefix, options);
    const filter = { type, tenancy, namePrefix };
    const stream = this.#feed.open(filter);
    // The snapshot is ahead of what was published.
    stream.start(
      pagedPrologue({
        revision: this.#store.revision,
        resources: selectResources(this.#store.content.snapshot(), filter),
        marker: options.endOfSnapshot === true,
      }),
    );
    return stream;
  }

  override async close(): Promise<void> {
    this.#isClosed = true;
    this.#arrived.length = 0;
    this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", "the backend was closed"));
    await this.#running;
  }

  async #publish(): Promise<void> {
    while (this.#arrived.length > 0) {
      await delay(this.#lagMs());
      const [commit] = this.#arrived;
      if (commit === undefined) return;
      const { revision, operation, resource } = commit;
      this.#feed.publish({ revision, operation, resource });
      this.#arrived.shift();
      this.#feed.isWhole = this.#arrived.length === 0;
    }
  }
}
