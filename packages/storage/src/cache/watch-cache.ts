import { setImmediate as turn } from "node:timers/promises";
import type { StorageCapabilities } from "../capabilities.ts";
import { abortable } from "../engine/abortable.ts";
import { freezeId, toReadonlyResource } from "../freeze.ts";
import { type ResourceFilter, resourceKey } from "../key.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../list/types.ts";
import { checkReadResult } from "../preconditions.ts";
import type { Resource, ResourceId, Tenancy, UnversionedType } from "../resource.ts";
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
} from "../types.ts";
import { checkConsistency, checkFilter, checkId } from "../validate.ts";
import {
  type ResolvedCacheOptions,
  resolveCacheOptions,
  type WatchCacheOptions,
} from "./cache-options.ts";
import type { CachedType } from "./cached-type.ts";
import { CachedTypes } from "./cached-types.ts";
import { Gate } from "./gate.ts";
import type { TypeContent } from "./type-content.ts";

/** What a cache holds, and how often it answered. */
export interface WatchCacheStatistics {
  /** Types that are followed. */
  readonly types: number;
  /** Types that are not cached for a while, because they were too large or have damaged resources. */
  readonly refused: number;
  readonly resources: number;
  /** Roughly what they take in memory. */
  readonly bytes: number;
  /** Watches that are fed from memory. */
  readonly watches: number;
  /** Calls that were answered from memory, and those that the engine answered. */
  readonly hits: Readonly<Record<CachedCall, number>>;
  readonly misses: Readonly<Record<CachedCall, number>>;
}

/** The calls that a cache answers. */
export type CachedCall = "read" | "list" | "watch";

/** A store with a cache of what is watched. */
export interface CachedStorage extends StorageBackend {
  cacheStatistics(): WatchCacheStatistics;
}

/**
 * A store of which the types that are watched are followed once, whatever the number of watches, and held in memory within bounds.
 *
 * From memory come watches, `eventual` reads and lists, `strong` lists, and where this instance is the only writer `strong` reads. All of them
 * keep the contract of the store: a call that may not be behind the engine first waits until the cache is where the engine is. All else is
 * the engine's: writes, pages, owners, snapshots, types that are too large or that nothing watches, and what a large resource
 * is part of. Over an engine whose watches have no source, which is the remote one, the cache passes everything on.
 *
 * Closing it closes the store.
 */
export function createWatchCache(
  storage: StorageBackend,
  options: WatchCacheOptions = {},
): CachedStorage {
  return new WatchCache(storage, resolveCacheOptions(options));
}

class WatchCache implements CachedStorage {
  readonly #storage: StorageBackend;
  readonly #options: ResolvedCacheOptions;
  readonly #types: CachedTypes;
  readonly #hits: Record<CachedCall, number> = { read: 0, list: 0, watch: 0 };
  readonly #misses: Record<CachedCall, number> = { read: 0, list: 0, watch: 0 };
  readonly #gate: Gate;
  /** One turn of the event loop, for all who need one now. */
  readonly #turn = new Gate(async () => turn());
  /** Through which the gate asks: they all are of one instance, so any will do. */
  #asked: CachedType | undefined;
  /** Answers of the engine, to writes too, which may be ahead of the cache, and how many of them it has reached. */
  #answers = 0;
  #reached = 0;
  #isClosed = false;

  constructor(storage: StorageBackend, options: ResolvedCacheOptions) {
    this.#storage = storage;
    this.#options = options;
    this.#types = new CachedTypes(storage, options);
    this.#gate = new Gate(async () => {
      const answers = this.#answers;
      await this.#asked?.caughtUp();
      // A caller that asks again and again lets all else run in between, as it does with an engine.
      await turn();
      this.#reached = Math.max(this.#reached, answers);
    });
  }

  get capabilities(): StorageCapabilities {
    return this.#storage.capabilities;
  }

  cacheStatistics(): WatchCacheStatistics {
    let [types, resources, bytes, watches] = [0, 0, 0, 0];
    for (const type of this.#types.all()) {
      types += 1;
      resources += type.size;
      bytes += type.bytes;
      watches += type.watches;
    }
    const { refused } = this.#types;
    const [hits, misses] = [{ ...this.#hits }, { ...this.#misses }];
    return { types, refused, resources, bytes, watches, hits, misses };
  }

  async read(
    consistency: ReadConsistency,
    id: ResourceId,
    options: CallOptions = {},
  ): Promise<Resource> {
    // In a store that others write to as well, asking how far it is costs as much as the resource.
    const isOwn = consistency === "eventual" || !this.capabilities.shared;
    if (isOwn && this.#isUsable(options)) {
      checkConsistency(consistency);
      checkId(id, this.capabilities.limits);
      const wanted = freezeId(id);
      const content = await this.#content(wanted.type, consistency, options.signal);
      const known = content?.get(resourceKey(wanted)) ?? "in the engine";
      if (known !== "in the engine") {
        this.#hits.read += 1;
        const stored = known === "nothing" ? undefined : toReadonlyResource(known);
        return checkReadResult(stored, wanted);
      }
      this.#misses.read += 1;
      return this.#ask(this.#storage.read(consistency, wanted, options));
    }
    this.#misses.read += 1;
    return this.#ask(this.#storage.read(consistency, id, options));
  }

  async list(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ReadManyOptions = {},
  ): Promise<readonly Resource[]> {
    const filter = copyFilter(type, tenancy, namePrefix);
    if (this.#isUsable(options)) {
      checkConsistency(consistency);
      checkFilter(type, tenancy, namePrefix, this.capabilities.limits);
      const canServe = consistency === "eventual" || this.capabilities.strongList;
      const content = canServe
        ? await this.#content(filter.type, consistency, options.signal, true)
        : undefined;
      if (content !== undefined && !content.isPartFor(filter)) {
        this.#hits.list += 1;
        return Array.from(content.select(filter), toReadonlyResource);
      }
    }
    this.#misses.list += 1;
    return this.#ask(
      this.#storage.list(consistency, filter.type, filter.tenancy, namePrefix, options),
    );
  }

  listPage(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options?: ListPageOptions,
  ): Promise<ListPage> {
    return this.#ask(this.#storage.listPage(consistency, type, tenancy, namePrefix, options));
  }

  listHeads(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options?: ListPageOptions,
  ): Promise<ListPage<ResourceHead>> {
    return this.#ask(this.#storage.listHeads(consistency, type, tenancy, namePrefix, options));
  }

  listByOwner(id: ResourceId, options?: ReadManyOptions): Promise<readonly Resource[]> {
    return this.#ask(this.#storage.listByOwner(id, options));
  }

  async watchList(
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: WatchOptions = {},
  ): Promise<Watch> {
    const filter = copyFilter(type, tenancy, namePrefix);
    const wanted = { ...options };
    if (this.#isUsable(options)) {
      checkFilter(type, tenancy, namePrefix, this.capabilities.limits);
      const watch = await this.#watch(filter, wanted);
      if (watch !== undefined) {
        this.#hits.watch += 1;
        return watch;
      }
    }
    this.#misses.watch += 1;
    return this.#ask(this.#storage.watchList(filter.type, filter.tenancy, namePrefix, wanted));
  }

  writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    return this.#ask(this.#storage.writeCAS(resource, options));
  }

  deleteCAS(id: ResourceId, version: string, options?: WriteOptions): Promise<void> {
    return this.#ask(this.#storage.deleteCAS(id, version, options));
  }

  batch(
    operations: readonly BatchOperation[],
    options?: WriteOptions,
  ): Promise<readonly (Resource | undefined)[]> {
    return this.#ask(this.#storage.batch(operations, options));
  }

  snapshot(options?: ReadManyOptions): Promise<Snapshot> {
    return this.#ask(this.#storage.snapshot(options));
  }

  restore(options?: CallOptions): Promise<Restore> {
    return this.#storage.restore(options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#types.close();
    await this.#storage.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Whether memory may answer; the engine says why a call is refused. */
  #isUsable({ signal }: CallOptions): boolean {
    return !this.#isClosed && signal?.aborted !== true;
  }

  /** What the engine answers may be ahead of the cache. */
  async #ask<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } finally {
      this.#answers += 1;
    }
  }

  /** The content of a type, as fresh as it has to be; nothing where the engine has to answer. */
  async #content(
    type: UnversionedType,
    consistency: ReadConsistency,
    signal: AbortSignal | undefined,
    asWhole = false,
  ): Promise<TypeContent | undefined> {
    const cached = this.#types.find(type);
    if (cached === undefined) return undefined;
    if (consistency === "strong" || this.#reached < this.#answers) {
      if (!(await this.#catchUp(cached, signal))) return undefined;
    } else {
      await abortable(this.#turn.pass(), signal);
    }
    if (this.#isClosed || cached.state !== "serving" || (asWhole && !cached.isWhole))
      return undefined;
    return cached.read();
  }

  async #watch(filter: ResourceFilter, options: WatchOptions): Promise<Watch | undefined> {
    const { endOfSnapshot, resume } = this.capabilities;
    if (options.endOfSnapshot === true && !endOfSnapshot) return undefined;
    if (options.resumeAfter !== undefined && !resume) return undefined;
    const known = this.#types.find(filter.type);
    const cached = known ?? (await this.#types.follow(filter.type, options.signal));
    if (cached === undefined) return undefined;
    // Its snapshot is the engine's.
    if (known === undefined) this.#answers += 1;
    if (!(await this.#catchUp(cached, options.signal))) return undefined;
    if (this.#isClosed || cached.state !== "serving" || !cached.isWhole) return undefined;
    return cached.open(filter, options);
  }

  /** Waits until the cache is where the engine was at the call; false when that took too long. */
  async #catchUp(cached: CachedType, signal: AbortSignal | undefined): Promise<boolean> {
    this.#asked = cached;
    const late = Promise.withResolvers<boolean>();
    const timer = this.#options.clock.after(this.#options.waitMs, () => late.resolve(false));
    const passed = this.#gate.pass().then(
      () => true,
      // The engine says what is wrong.
      () => false,
    );
    try {
      return await abortable(Promise.race([passed, late.promise]), signal);
    } finally {
      timer[Symbol.dispose]();
    }
  }
}

function copyFilter(
  { group, kind }: UnversionedType,
  tenancy: Tenancy,
  namePrefix: string,
): ResourceFilter {
  return { type: { group, kind }, tenancy: { ...tenancy }, namePrefix };
}
