import { setTimeout as delay } from "node:timers/promises";
import { isStorageError } from "../../errors.ts";
import { resourceKey } from "../../key.ts";
import { checkWritePreconditions, refused } from "../../preconditions.ts";
import type { Resource, ResourceId, Tenancy, UnversionedType } from "../../resource.ts";
import type {
  BatchOperation,
  CallOptions,
  ReadConsistency,
  StorageBackend,
  Watch,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "../../types.ts";
import { DelegatingStorage } from "../delegate.ts";
import { createRandom, type Random } from "../random.ts";

// Stores that are wrong on purpose, each in one way that real ones were. They prove that the
// checkers can fail.

/** Acknowledges a write once it is judged, and commits it a little later. */
export class AcknowledgesBeforeCommit extends DelegatingStorage {
  #commits = 0;

  override async writeCAS(resource: Resource): Promise<Resource> {
    const stored = await readOrNothing(this.inner, resource.id);
    const head = stored && { uid: stored.id.uid, version: stored.version };
    const refusal = checkWritePreconditions(head, resource.id.uid, resource.version);
    if (refusal !== undefined) throw refused(refusal, resource.id, resource.version);
    this.#commits += 1;
    // Late commits that lose a race are lost altogether, which nobody hears of.
    void delay(1).then(() => this.inner.writeCAS(resource).catch(() => undefined));
    return { ...resource, version: String(this.#commits) };
  }
}

/** Tells watchers of a commit before readers can see it. */
export class PublishesBeforeCommit extends DelegatingStorage {
  readonly #hidden = new Map<string, Resource | undefined>();
  #queue: Promise<unknown> = Promise.resolve();

  override writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    const writing = this.#queue.then(async () => {
      const key = resourceKey(resource.id);
      const before = await readOrNothing(this.inner, resource.id);
      this.#hidden.set(key, before);
      try {
        const stored = await this.inner.writeCAS(resource, options);
        await delay(1);
        return stored;
      } finally {
        this.#hidden.delete(key);
      }
    });
    this.#queue = writing.catch(() => undefined);
    return writing;
  }

  override async read(
    consistency: ReadConsistency,
    id: ResourceId,
    options?: CallOptions,
  ): Promise<Resource> {
    const key = resourceKey(id);
    const hidden = this.#hidden.get(key);
    if (!this.#hidden.has(key)) return this.inner.read(consistency, id, options);
    if (hidden !== undefined) return hidden;
    return this.inner.read(consistency, { ...id, name: `${id.name}~absent` }, options);
  }
}

/** Drops the guards of writes and batches. */
export class ForgetsGuards extends DelegatingStorage {
  override writeCAS(resource: Resource): Promise<Resource> {
    return this.inner.writeCAS(resource);
  }

  override deleteCAS(id: ResourceId, version: string): Promise<void> {
    return this.inner.deleteCAS(id, version);
  }

  override batch(
    operations: readonly BatchOperation[],
  ): Promise<readonly (Resource | undefined)[]> {
    return this.inner.batch(operations);
  }
}

/** Applies the operations of a batch one after the other. */
export class TearsBatches extends DelegatingStorage {
  override async batch(
    operations: readonly BatchOperation[],
    options?: WriteOptions,
  ): Promise<readonly (Resource | undefined)[]> {
    const results: (Resource | undefined)[] = [];
    for (const operation of operations) {
      if (operation.kind === "write") {
        results.push(await this.inner.writeCAS(operation.resource, options));
      } else {
        await this.inner.deleteCAS(operation.id, operation.version, options);
        results.push(undefined);
      }
      await delay(0);
    }
    return results;
  }
}

/** Judges a write, and writes it a little later without judging it again. */
export class ComparesThenSwaps extends DelegatingStorage {
  override async writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    const stored = await readOrNothing(this.inner, resource.id);
    const head = stored && { uid: stored.id.uid, version: stored.version };
    const refusal = checkWritePreconditions(head, resource.id.uid, resource.version);
    if (refusal !== undefined) throw refused(refusal, resource.id, resource.version);
    await delay(1);
    const now = await readOrNothing(this.inner, resource.id);
    const id = { ...resource.id, uid: now?.id.uid ?? resource.id.uid };
    return this.inner.writeCAS({ ...resource, id, version: now?.version ?? "" }, options);
  }
}

/** Answers strong reads from what was stored a little earlier. */
export class ReadsFromTheFollower extends DelegatingStorage {
  readonly #lagging = new Map<string, Resource | undefined>();

  override async writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    const key = resourceKey(resource.id);
    const before = await readOrNothing(this.inner, resource.id);
    const stored = await this.inner.writeCAS(resource, options);
    this.#lagging.set(key, before);
    void delay(2).then(() => this.#lagging.delete(key));
    return stored;
  }

  override async read(
    consistency: ReadConsistency,
    id: ResourceId,
    options?: CallOptions,
  ): Promise<Resource> {
    const old = this.#lagging.get(resourceKey(id));
    return old ?? this.inner.read(consistency, id, options);
  }
}

/** Loses the newest commits in a restart that it was asked for. */
export class LosesTheTail extends DelegatingStorage {
  #kept: Resource[] = [];

  /** Takes the state that the crash will fall back to. */
  async sync(): Promise<void> {
    await using snapshot = await this.inner.snapshot();
    const kept: Resource[] = [];
    for await (const resource of snapshot) kept.push(resource);
    this.#kept = kept;
  }

  async crash(): Promise<void> {
    await using restore = await this.inner.restore();
    for (const resource of this.#kept) await restore.apply(resource);
    await restore.commit();
  }
}

/** What a broken watch makes of the next event: the events to deliver instead. */
type Mangle = (event: WatchEvent, random: Random, held: WatchEvent[]) => readonly WatchEvent[];

/** Delivers some event behind the one after it. */
export const swapEvents: Mangle = (event, random, held) => {
  const [late] = held.splice(0);
  if (late !== undefined) return [event, late];
  if (random.below(10) > 0) return [event];
  held.push(event);
  return [];
};

/** Leaves some event out. */
export const dropEvents: Mangle = (event, random) => (random.below(20) === 0 ? [] : [event]);

/** Delivers some event twice. */
export const repeatEvents: Mangle = (event, random) =>
  random.below(20) === 0 ? [event, event] : [event];

/** A store whose watches mangle their events. */
export class ManglesEvents extends DelegatingStorage {
  readonly #mangle: Mangle;
  readonly #random: Random;

  constructor(inner: StorageBackend, mangle: Mangle, seed: number) {
    super(inner);
    this.#mangle = mangle;
    this.#random = createRandom(seed);
  }

  override async watchList(
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options?: WatchOptions,
  ): Promise<Watch> {
    const watch = await this.inner.watchList(type, tenancy, namePrefix, options);
    const ready: WatchEvent[] = [];
    const held: WatchEvent[] = [];
    const next: Watch["next"] = async (call) => {
      while (ready.length === 0) {
        const event = await watch.next(call);
        // The markers of the workload and of the snapshot are not the subject.
        const marker = !("resource" in event) || event.resource.id.name.includes("~end");
        if (marker) ready.push(...held.splice(0), event);
        else ready.push(...this.#mangle(event, this.#random, held));
      }
      return ready.shift() as WatchEvent;
    };
    return {
      next,
      close: () => watch.close(),
      [Symbol.dispose]: () => watch.close(),
      [Symbol.asyncIterator]: () => ({ next: async () => ({ value: await next(), done: false }) }),
    };
  }
}

async function readOrNothing(
  storage: StorageBackend,
  id: ResourceId,
): Promise<Resource | undefined> {
  try {
    return await storage.read("strong", { ...id, uid: "" });
  } catch (error) {
    if (isStorageError(error, "STORAGE_NOT_FOUND")) return undefined;
    throw error;
  }
}
