import { abortable } from "../engine/abortable.ts";
import { type UnversionedType, WILDCARD } from "../resource.ts";
import type { StorageBackend } from "../types.ts";
import type { ResolvedCacheOptions } from "./cache-options.ts";
import { CachedType } from "./cached-type.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** Most types at a time: clients choose what they watch. Further ones are the engine's. */
const MOST_TYPES = 256;

/** The types that a cache follows. A type is followed from its first watch on, unless it was too large lately. */
export class CachedTypes {
  readonly #storage: StorageBackend;
  readonly #options: ResolvedCacheOptions;
  /** The one that new calls use, or the one that is being opened. */
  readonly #types = new Map<string, CachedType>();
  readonly #opening = new Map<string, Promise<void>>();
  /** All that have not ended, those too that only follow for watches they have. */
  readonly #open = new Set<CachedType>();
  /** Until when a type is not tried. */
  readonly #refused = new Map<string, number>();
  /** Whether the watches of the engine can be followed, as far as is known. */
  #isFollowable = true;
  #isClosed = false;
  #sweep: Disposable | undefined;

  constructor(storage: StorageBackend, options: ResolvedCacheOptions) {
    this.#storage = storage;
    this.#options = options;
    this.#isFollowable = storage.capabilities.endOfSnapshot;
  }

  /** All that have not ended. */
  all(): Iterable<CachedType> {
    return this.#open;
  }

  /** How many types are not cached because they are too large, or damaged. */
  get refused(): number {
    this.#forgetRefusals();
    return this.#refused.size;
  }

  /** The follower of a type, if there is one that serves. */
  find(type: UnversionedType): CachedType | undefined {
    const found = this.#types.get(keyOf(type));
    return found?.state === "serving" ? found : undefined;
  }

  /** The same, begun if there is none; nothing where the engine has to answer. Rejects with the signal's reason. */
  async follow(
    type: UnversionedType,
    signal: AbortSignal | undefined,
  ): Promise<CachedType | undefined> {
    const key = keyOf(type);
    if (!this.#isFollowable || this.#isClosed || this.#isRefused(key)) return undefined;
    const found = this.#types.get(key);
    if (found?.state === "serving") return found;
    const isOpening = this.#opening.has(key);
    if (!isOpening && this.#open.size + this.#opening.size >= MOST_TYPES) return undefined;
    this.#opening.set(key, this.#opening.get(key) ?? this.#begin(key, type));
    const late = Promise.withResolvers<void>();
    const timer = this.#options.clock.after(this.#options.waitMs, late.resolve);
    try {
      await abortable(Promise.race([this.#opening.get(key), late.promise]), signal);
    } finally {
      timer[Symbol.dispose]();
    }
    return this.find(type);
  }

  close(): void {
    this.#isClosed = true;
    this.#sweep?.[Symbol.dispose]();
    for (const type of Array.from(this.#open)) type.close();
  }

  /** Resolves when the type serves, or cannot. Never rejects: the engine then says why. */
  async #begin(key: string, type: UnversionedType): Promise<void> {
    try {
      await this.#load(key, { group: type.group, kind: type.kind });
    } catch {
      this.#types.delete(key);
    } finally {
      this.#opening.delete(key);
    }
  }

  async #load(key: string, type: UnversionedType): Promise<void> {
    const { resume } = this.#storage.capabilities;
    let isDamaged = false;
    const watch = await this.#storage.watchList(type, ANYWHERE, "", {
      endOfSnapshot: true,
      bookmarks: resume,
      onDamaged: () => {
        isDamaged = true;
      },
    });
    const { source } = watch;
    if (source === undefined || this.#isClosed) {
      this.#isFollowable = source !== undefined;
      watch.close();
      return;
    }
    const cached: CachedType = new CachedType({
      watch,
      source,
      options: this.#options,
      // What reads a damaged resource has to hear of it, and only the engine knows.
      hasRoom: () => !isDamaged && this.#hasRoom(cached),
      outgrown: () => {
        this.#refused.set(key, this.#options.clock.monotonicMs() + this.#options.retryMs);
        if (this.#types.get(key) === cached) this.#types.delete(key);
      },
      ended: () => {
        this.#open.delete(cached);
        if (this.#types.get(key) === cached) this.#types.delete(key);
      },
    });
    this.#open.add(cached);
    this.#types.set(key, cached);
    this.#sweepLater();
    cached.start();
    await cached.loaded();
  }

  #hasRoom(cached: CachedType): boolean {
    if (cached.bytes > this.#options.typeBytes) return false;
    let total = 0;
    for (const { bytes } of this.#open) total += bytes;
    return total <= this.#options.totalBytes;
  }

  #isRefused(key: string): boolean {
    this.#forgetRefusals();
    return this.#refused.has(key);
  }

  #forgetRefusals(): void {
    const now = this.#options.clock.monotonicMs();
    for (const [key, untilMs] of this.#refused) if (untilMs <= now) this.#refused.delete(key);
  }

  #sweepLater(): void {
    const { clock, idleMs } = this.#options;
    this.#sweep ??= clock.after(Math.max(100, idleMs / 4), () => {
      this.#sweep = undefined;
      const usedBefore = clock.monotonicMs() - idleMs;
      for (const type of Array.from(this.#open)) type.sweep(usedBefore);
      if (this.#open.size > 0) this.#sweepLater();
    });
  }
}

function keyOf({ group, kind }: UnversionedType): string {
  return `${group}\0${kind}`;
}
