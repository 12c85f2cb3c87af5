import { sleep } from "@stackwright/base/clock";
import {
  type BatchOperation,
  type CallOptions,
  type ListPage,
  type Resource,
  type ResourceHead,
  type ResourceId,
  type StorageBackend,
  StorageError,
  type Tenancy,
  type Watch,
  type WatchEvent,
  type WriteOptions,
} from "@stackwright/storage";
import { DelegatingStorage } from "@stackwright/storage/testing";
import { never, type SimProcess } from "./sim-process.ts";

/** One resource of a commit. */
export interface CommittedWrite {
  readonly kind: string;
  readonly name: string;
  readonly tenancy: Tenancy;
  /** Absent for a delete. */
  readonly resource?: Resource;
}

/** A batch that took place, with who made it. */
export interface Commit {
  readonly atMs: number;
  readonly process: SimProcess;
  /** The request of a user that it belongs to. */
  readonly request: string | undefined;
  /** It arrived after its process had given it up. */
  readonly isLate: boolean;
  readonly writes: readonly CommittedWrite[];
}

/** A batch before it takes place. */
export interface SimBatch {
  readonly operations: readonly BatchOperation[];
  readonly options: WriteOptions | undefined;
}

/** What all processes of a simulation share. */
export interface SharedStore {
  readonly inner: StorageBackend;
  readonly onCommit: (commit: Commit) => void;
  /** Planted bugs, in what is written and in what is read; of reads, whether a user's request makes it. */
  readonly alter?: ((batch: SimBatch, process: SimProcess) => SimBatch) | undefined;
  readonly alterRead?: ((resource: Resource, isRequest: boolean) => Resource) | undefined;
  readonly hidden?: ((id: ResourceId, isRequest: boolean) => boolean) | undefined;
}

/** The store as one process sees it. After the process has died, no call of it ever comes back. */
export class SimStore extends DelegatingStorage {
  readonly #shared: SharedStore;
  readonly #process: SimProcess;
  readonly #request: string | undefined;

  constructor(shared: SharedStore, process: SimProcess, request?: string) {
    super(shared.inner);
    this.#shared = shared;
    this.#process = process;
    this.#request = request;
  }

  /** The same for one request of a user. */
  forRequest(request: string): SimStore {
    return new SimStore(this.#shared, this.#process, request);
  }

  override async read(...given: Parameters<StorageBackend["read"]>): Promise<Resource> {
    await this.#travel();
    if (this.#shared.hidden?.(given[1], this.#request !== undefined) === true) {
      throw new StorageError("STORAGE_NOT_FOUND");
    }
    return this.#seen(await this.#answer(super.read(...given)));
  }

  override async list(...given: Parameters<StorageBackend["list"]>): Promise<readonly Resource[]> {
    await this.#travel();
    return (await this.#answer(super.list(...given))).map((resource) => this.#seen(resource));
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
    const [stored] = await this.#write([{ kind: "write", resource }], options);
    if (stored === undefined) throw new Error("a write without a result");
    return stored;
  }

  override async deleteCAS(id: ResourceId, version: string, options?: WriteOptions): Promise<void> {
    await this.#write([{ kind: "delete", id, version }], options);
  }

  override async batch(
    operations: readonly BatchOperation[],
    options?: WriteOptions,
  ): Promise<readonly (Resource | undefined)[]> {
    return this.#write(operations, options);
  }

  override async watchList(...given: Parameters<StorageBackend["watchList"]>): Promise<Watch> {
    await this.#travel();
    const [, , , options] = given;
    const hasSnapshot = options?.endOfSnapshot === true;
    return new LateWatch(await super.watchList(...given), this.#process, hasSnapshot);
  }

  /** The store is that of all processes, and stays open. */
  override async close(): Promise<void> {
    await Promise.resolve();
  }

  #seen(resource: Resource): Resource {
    return this.#shared.alterRead?.(resource, this.#request !== undefined) ?? resource;
  }

  async #write(
    operations: readonly BatchOperation[],
    options: WriteOptions | undefined,
  ): Promise<readonly (Resource | undefined)[]> {
    await this.#travel();
    const process = this.#process;
    const fault = isHeartbeat(operations) ? undefined : process.nextFault();
    if (fault?.kind === "crash-before") {
      process.die(fault);
      return never();
    }
    if (fault?.kind === "pause") {
      process.pause(fault.ms);
      await this.#travel();
    }
    if (fault?.kind === "refused") throw unknownOutcome("not-applied");
    if (fault?.kind === "lost-none") throw unknownOutcome("unknown");
    if (fault?.kind === "lost-late") {
      process.scheduler.after(fault.ms, () => {
        this.#perform(operations, options, true).catch(() => undefined);
      });
      throw unknownOutcome("unknown");
    }
    const results = await this.#perform(operations, options);
    if (fault?.kind === "crash-after") {
      process.die(fault);
      return never();
    }
    if (fault?.kind === "lost-done") throw unknownOutcome("unknown");
    if (fault?.kind === "pause-after") process.pause(fault.ms);
    return this.#answer(Promise.resolve(results));
  }

  async #perform(
    operations: readonly BatchOperation[],
    options: WriteOptions | undefined,
    isLate = false,
  ): Promise<readonly (Resource | undefined)[]> {
    const { alter, onCommit } = this.#shared;
    const batch = alter?.({ operations, options }, this.#process) ?? { operations, options };
    const results = await super.batch(batch.operations, batch.options);
    onCommit({
      atMs: this.#process.scheduler.monotonicMs(),
      process: this.#process,
      request: this.#request,
      isLate,
      writes: batch.operations.map((operation, position) => {
        const { type, name, tenancy } =
          operation.kind === "write" ? operation.resource.id : operation.id;
        const resource = results[position];
        const at = { kind: type.kind, name, tenancy };
        return operation.kind === "write" && resource !== undefined ? { ...at, resource } : at;
      }),
    });
    return results;
  }

  /** A call is on its way; a process that stands still makes none. */
  async #travel(): Promise<void> {
    const { scheduler, chance, delayMs } = this.#process;
    await this.#process.awake();
    if (delayMs > 0) await sleep(scheduler, chance.below(delayMs + 1));
    await this.#process.awake();
    if (this.#process.awayUntil > scheduler.monotonicMs()) throw unknownOutcome("not-applied");
  }

  async #answer<T>(result: Promise<T>): Promise<T> {
    const [settled] = await Promise.allSettled([result]);
    await this.#process.awake();
    if (settled.status === "rejected") throw settled.reason;
    return settled.value;
  }
}

/** A watch whose events come late, or never. Of what is stored as it begins it loses nothing, as no store does: who keeps that takes it for the whole. */
class LateWatch implements Watch {
  readonly #inner: Watch;
  readonly #process: SimProcess;
  #isInSnapshot: boolean;

  constructor(inner: Watch, process: SimProcess, hasSnapshot: boolean) {
    this.#inner = inner;
    this.#process = process;
    this.#isInSnapshot = hasSnapshot;
  }

  async next(options?: CallOptions): Promise<WatchEvent> {
    const { chance, scheduler, clock } = this.#process;
    for (;;) {
      const event = await this.#inner.next(options);
      if (!this.#isInSnapshot && chance.maybe(0.2)) continue;
      if (event.operation === "endOfSnapshot") this.#isInSnapshot = false;
      if (chance.maybe(0.3)) await sleep(clock, chance.below(3_000), options?.signal);
      else if (this.#process.pauseMs > 0) await sleep(scheduler, this.#process.pauseMs);
      if (this.#process.isDead) await never();
      return event;
    }
  }

  close(): void {
    this.#inner.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<WatchEvent> {
    for (;;) yield await this.next();
  }
}

function isHeartbeat(operations: readonly BatchOperation[]): boolean {
  return operations.every((operation) => {
    const { type } = operation.kind === "write" ? operation.resource.id : operation.id;
    return type.kind === "Heartbeat";
  });
}

function unknownOutcome(outcome: "unknown" | "not-applied"): StorageError {
  return new StorageError("STORAGE_INCONSISTENT", "the answer was lost", { details: { outcome } });
}
