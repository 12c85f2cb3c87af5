import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { isStorageError, StorageError } from "../errors.ts";
import { readStored } from "../read-stored.ts";
import { type Resource, type ResourceId, WILDCARD } from "../resource.ts";
import type { StorageBackend, Watch } from "../types.ts";
import { deleteStored } from "./delete-resource.ts";
import { createServiceParts, type ServiceParts } from "./service-parts.ts";
import { ownerOf, TOMBSTONE_TYPE } from "./tombstone.ts";
import { writeStatusOf } from "./write-status.ts";

/** Options of {@link startReaper}. */
export interface ReaperOptions {
  readonly storage: StorageBackend;
  /**
   * Pause between the two passes over a tombstone. Children that were created while their owner was
   * being deleted have to be there by then.
   *
   * @default 30,000
   */
  readonly secondPassMs?: number;
  /** How often all tombstones are read, in addition to the watch, in milliseconds. @default 60,000 */
  readonly sweepMs?: number;
  /** @default the process's */
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** A running reaper. */
export interface Reaper extends AsyncDisposable {
  close(): Promise<void>;
}

const STATUS_KEY = "stackwright/reaper";
const FIRST_PASS = "FirstPassCompleted";
/** First pause for an owner that is still there; it doubles. */
const FIRST_LOOK_MS = 50;
const EVERYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/**
 * Deletes what deleted resources owned, by their tombstones. Any number of reapers may run over one
 * store: what they do a second time has no effect.
 */
export function startReaper(options: ReaperOptions): Reaper {
  const reaper = new RunningReaper(options);
  const running = reaper.run();
  const close = async (): Promise<void> => {
    reaper.stop();
    await running;
  };
  return { close, [Symbol.asyncDispose]: close };
}

// A tombstone is passed over twice. It is written just before its owner is deleted, so the reaper
// waits until the owner is gone. From then on `listByOwner` shows all children that existed at that
// moment, and the first pass deletes them. A child that was being created may come in later; the
// second pass, some time afterwards, deletes those, and then the tombstone. That the first pass is
// done, and when, is a status of the tombstone, so any reaper can continue where another stopped.

class RunningReaper {
  readonly #storage: StorageBackend;
  readonly #parts: ServiceParts;
  readonly #clock: Clock;
  readonly #logger: Logger | undefined;
  readonly #secondPassMs: number;
  readonly #sweepMs: number;
  readonly #stop = new AbortController();
  /** Second passes to come, by the tombstone's uid. */
  readonly #planned = new Map<string, Disposable>();
  readonly #working = new Set<Promise<void>>();

  constructor(options: ReaperOptions) {
    this.#storage = options.storage;
    this.#parts = createServiceParts(options);
    this.#clock = this.#parts.clock;
    this.#logger = options.logger;
    this.#secondPassMs = options.secondPassMs ?? 30_000;
    this.#sweepMs = options.sweepMs ?? 60_000;
  }

  stop(): void {
    this.#stop.abort(new StorageError("STORAGE_INCONSISTENT", "the reaper was stopped"));
    for (const planned of this.#planned.values()) planned[Symbol.dispose]();
    this.#planned.clear();
  }

  async run(): Promise<void> {
    await Promise.all([this.#follow(), this.#sweep()]);
    await Promise.all(this.#working);
  }

  /** Handles tombstones as they come in. */
  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        using watch: Watch = await this.#storage.watchList(TOMBSTONE_TYPE, EVERYWHERE, "", {
          signal,
        });
        for (;;) {
          const event = await watch.next({ signal });
          if (event.operation === "upsert") await this.#handle(event.resource);
        }
      } catch (error) {
        await this.#pauseAfter(error);
      }
    }
  }

  /** Handles all tombstones now and then, for those whose handling failed. */
  async #sweep(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await sleep(this.#clock, this.#sweepMs, signal);
        const tombstones = await this.#storage.list("eventual", TOMBSTONE_TYPE, EVERYWHERE, "", {
          signal,
        });
        for (const tombstone of tombstones) await this.#handle(tombstone);
      } catch (error) {
        this.#report(error);
      }
    }
  }

  async #handle(tombstone: Resource): Promise<void> {
    try {
      const passed = tombstone.status[STATUS_KEY];
      if (passed === undefined) await this.#firstPass(tombstone);
      else this.#planSecondPass(tombstone, passed.updatedAt?.seconds ?? 0);
    } catch (error) {
      this.#report(error);
    }
  }

  async #firstPass(tombstone: Resource, waitedMs = 0): Promise<void> {
    const owner = ownerOf(tombstone);
    const stored = await readStored(this.#storage, "strong", owner);
    if (stored !== undefined) {
      await this.#awaitDeletion(tombstone, stored, waitedMs);
      return;
    }
    await this.#deleteChildren(owner);
    await writeStatusOf(
      this.#parts,
      tombstone.id,
      {
        key: STATUS_KEY,
        status: {
          observedGeneration: tombstone.generation,
          conditions: [{ type: FIRST_PASS, state: "true", reason: "", message: "" }],
        },
      },
      {},
    );
  }

  /**
   * The owner is still there: its deletion is under way, or was given up. In the latter case the
   * tombstone has to go in the end; a later deletion writes a new one.
   */
  async #awaitDeletion(tombstone: Resource, owner: Resource, waitedMs: number): Promise<void> {
    if (waitedMs >= this.#secondPassMs) {
      // Only while the owner is there: what is deleted in this very moment needs its tombstone.
      const guarded = this.#storage.capabilities.guards > 0;
      const guards = guarded ? [{ id: owner.id, version: owner.version }] : [];
      await this.#storage.deleteCAS(tombstone.id, tombstone.version, { guards });
      return;
    }
    const delayMs = Math.min(this.#secondPassMs, Math.max(FIRST_LOOK_MS, waitedMs));
    this.#plan(tombstone.id.uid, delayMs, () => this.#firstPass(tombstone, waitedMs + delayMs));
  }

  #planSecondPass(tombstone: Resource, firstPassSeconds: number): void {
    // By the wall clock of the reaper that made the first pass; a clock that is off costs at most one delay.
    const passedMs = this.#clock.wallMs() - firstPassSeconds * 1_000;
    const leftMs = Math.min(this.#secondPassMs, Math.max(0, this.#secondPassMs - passedMs));
    this.#plan(tombstone.id.uid, leftMs, () => this.#secondPass(tombstone));
  }

  async #secondPass(tombstone: Resource): Promise<void> {
    await this.#deleteChildren(ownerOf(tombstone));
    await this.#storage.deleteCAS(tombstone.id, tombstone.version);
  }

  async #deleteChildren(owner: ResourceId): Promise<void> {
    for (const child of await this.#storage.listByOwner(owner)) {
      await deleteStored(this.#parts, child.id, "", {});
    }
  }

  #plan(uid: string, delayMs: number, task: () => Promise<void>): void {
    if (this.#stop.signal.aborted || this.#planned.has(uid)) return;
    const planned = this.#clock.after(delayMs, () => {
      this.#planned.delete(uid);
      const working = task()
        .catch((failure: unknown) => this.#report(failure))
        .finally(() => this.#working.delete(working));
      this.#working.add(working);
    });
    this.#planned.set(uid, planned);
  }

  async #pauseAfter(error: unknown): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    if (!isStorageError(error, "STORAGE_WATCH_CLOSED")) this.#report(error);
    try {
      await sleep(this.#clock, 1_000, signal);
    } catch {
      // Stopped meanwhile.
    }
  }

  /** What fails is tried again by the next sweep. */
  #report(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#logger?.warn({ error }, "a tombstone could not be handled");
  }
}
