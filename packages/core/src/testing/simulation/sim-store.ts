import { type Clock, sleep } from "@stackwright/base/clock";
import type {
  BatchOperation,
  Guard,
  ListPage,
  Resource,
  ResourceHead,
  ResourceId,
  StorageBackend,
  WriteOptions,
} from "@stackwright/storage";
import { StorageError } from "@stackwright/storage";
import { fenceHolderOf } from "@stackwright/storage/lease";
import { DelegatingStorage } from "@stackwright/storage/testing";
import type { Chance } from "./chance.ts";

/** One write that took place, with who made it. */
export interface AppliedWrite {
  readonly process: string;
  readonly kind: string;
  readonly name: string;
  /** Absent for a delete. */
  readonly resource?: Resource;
  /** Who held the stack at that moment, by the store. */
  readonly fence: { readonly owner: string; readonly epoch: bigint };
}

/** What all processes of a simulation share: a store, and the log of everything that was written to it. */
export class SimStore {
  readonly inner: StorageBackend;
  readonly log: AppliedWrite[] = [];
  #fence: AppliedWrite["fence"] = { owner: "", epoch: 0n };

  constructor(inner: StorageBackend) {
    this.inner = inner;
  }

  note(process: string, operation: BatchOperation, stored: Resource | undefined): void {
    const { name, type } = operation.kind === "write" ? operation.resource.id : operation.id;
    if (type.kind === "Fence") this.#fence = fenceHolderOf(stored);
    this.log.push({
      process,
      kind: type.kind,
      name,
      fence: this.#fence,
      ...(stored === undefined ? {} : { resource: stored }),
    });
  }
}

/** What happens to the writes of a process; counted are those that the engine makes, not those of its lease. */
export interface StoreFaults {
  /** The process dies at this write (from 1 on), before or after it takes place. */
  readonly crash?: { readonly write: number; readonly when: "before" | "after" };
  /** At this write the process freezes for so long; then its write arrives. */
  readonly freeze?: { readonly write: number; readonly ms: number };
  /** Share of the writes whose answer is lost. */
  readonly lost: number;
  /** Most milliseconds until a call reaches the store. */
  readonly delayMs: number;
}

export const NO_STORE_FAULTS: StoreFaults = { lost: 0, delayMs: 0 };

/** The store as one process sees it. After the process has died, no call of it ever comes back. */
export class ProcessStorage extends DelegatingStorage {
  readonly #shared: SimStore;
  readonly #owner: string;
  readonly #scheduler: Clock;
  readonly #chance: Chance;
  readonly #life: AbortSignal;
  readonly #die: () => void;
  readonly #freeze: () => void;
  readonly #dropGuards: boolean;
  faults: StoreFaults;
  /** Writes of the engine so far. */
  writes = 0;
  #frozenUntil = 0;

  constructor(options: {
    readonly shared: SimStore;
    readonly owner: string;
    readonly scheduler: Clock;
    readonly chance: Chance;
    readonly life: AbortSignal;
    readonly die: () => void;
    readonly freeze: () => void;
    readonly faults: StoreFaults;
    /** A planted bug: guards are forgotten. */
    readonly dropGuards: boolean;
  }) {
    super(options.shared.inner);
    this.#shared = options.shared;
    this.#owner = options.owner;
    this.#scheduler = options.scheduler;
    this.#chance = options.chance;
    this.#life = options.life;
    this.#die = options.die;
    this.#freeze = options.freeze;
    this.faults = options.faults;
    this.#dropGuards = options.dropGuards;
  }

  override async read(...given: Parameters<StorageBackend["read"]>): Promise<Resource> {
    await this.#travel();
    return this.#answer(super.read(...given));
  }

  override async list(...given: Parameters<StorageBackend["list"]>): Promise<readonly Resource[]> {
    await this.#travel();
    return this.#answer(super.list(...given));
  }

  override async listPage(...given: Parameters<StorageBackend["listPage"]>): Promise<ListPage> {
    await this.#travel();
    return this.#answer(super.listPage(...given));
  }

  override async listHeads(
    ...given: Parameters<StorageBackend["listHeads"]>
  ): Promise<ListPage<ResourceHead>> {
    await this.#travel();
    return this.#answer(super.listHeads(...given));
  }

  override async writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    const [stored] = await this.#write([{ kind: "write", resource }], options, async () => [
      await super.writeCAS(resource, this.#guarded(options)),
    ]);
    if (stored === undefined) throw new Error("a write without a result");
    return stored;
  }

  override async deleteCAS(id: ResourceId, version: string, options?: WriteOptions): Promise<void> {
    await this.#write([{ kind: "delete", id, version }], options, async () => {
      await super.deleteCAS(id, version, this.#guarded(options));
      return [undefined];
    });
  }

  override async batch(
    operations: readonly BatchOperation[],
    options?: WriteOptions,
  ): Promise<readonly (Resource | undefined)[]> {
    return this.#write(operations, options, () => super.batch(operations, this.#guarded(options)));
  }

  /** The store is that of all processes, and stays open. */
  override async close(): Promise<void> {
    await Promise.resolve();
  }

  async #write(
    operations: readonly BatchOperation[],
    options: { readonly guards?: readonly Guard[] | undefined } | undefined,
    perform: () => Promise<readonly (Resource | undefined)[]>,
  ): Promise<readonly (Resource | undefined)[]> {
    await this.#travel();
    const { crash, freeze, lost } = this.faults;
    // Leases write without guards on other kinds, or heartbeats; everything else is the engine's.
    const counted =
      operations.some((operation) => isEngineWrite(operation)) && options?.guards !== undefined;
    if (counted) this.writes += 1;
    if (counted && freeze?.write === this.writes) {
      this.#frozenUntil = this.#scheduler.monotonicMs() + freeze.ms;
      this.#freeze();
      await sleep(this.#scheduler, freeze.ms);
    }
    const dies = counted && crash?.write === this.writes;
    if (dies && crash.when === "before") return this.#end();
    const losesAnswer = this.#chance.maybe(lost);
    if (losesAnswer && this.#chance.maybe(0.5)) throw lostAnswer();
    const results = await perform();
    for (const [position, operation] of operations.entries()) {
      this.#shared.note(this.#owner, operation, results[position]);
    }
    if (dies) return this.#end();
    if (losesAnswer) throw lostAnswer();
    return this.#answer(Promise.resolve(results));
  }

  #guarded(options: WriteOptions | undefined): WriteOptions | undefined {
    return this.#dropGuards ? {} : options;
  }

  async #travel(): Promise<void> {
    if (this.#life.aborted) await never();
    const { delayMs } = this.faults;
    if (delayMs > 0) await sleep(this.#scheduler, this.#chance.below(delayMs + 1));
    const wait = this.#frozenUntil - this.#scheduler.monotonicMs();
    if (wait > 0) await sleep(this.#scheduler, wait);
    if (this.#life.aborted) await never();
  }

  async #answer<T>(result: Promise<T>): Promise<T> {
    try {
      const value = await result;
      return this.#life.aborted ? await never() : value;
    } catch (error) {
      if (this.#life.aborted) await never();
      throw error;
    }
  }

  #end<T>(): Promise<T> {
    this.#die();
    return never();
  }
}

function isEngineWrite(operation: BatchOperation): boolean {
  const { kind } = operation.kind === "write" ? operation.resource.id.type : operation.id.type;
  return kind !== "Fence" && kind !== "Heartbeat";
}

function lostAnswer(): StorageError {
  return new StorageError("STORAGE_INCONSISTENT", "the answer was lost", {
    details: { outcome: "unknown" },
  });
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}
