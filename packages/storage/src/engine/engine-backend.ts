import type { StorageCapabilities } from "../capabilities.ts";
import { freezeId } from "../freeze.ts";
import type { ResourceFilter } from "../key.ts";
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
import {
  checkBatch,
  checkConsistency,
  checkFilter,
  checkGuards,
  checkId,
  checkResource,
  checkVersion,
  unsupported,
} from "../validate.ts";
import { abortable } from "./abortable.ts";
import { closedError } from "./closed-error.ts";
import type { EngineAdapter } from "./engine-adapter.ts";

/**
 * A store as its callers see it, whatever its engine: it judges the form of every argument before the engine has it,
 * answers calls that are given up, and refuses those after `close` and those that the engine does not offer.
 */
export class EngineBackend implements StorageBackend {
  readonly capabilities: StorageCapabilities;
  readonly #engine: EngineAdapter;
  #closing: Promise<void> | undefined;

  constructor(engine: EngineAdapter) {
    this.capabilities = engine.capabilities;
    this.#engine = engine;
  }

  async read(
    consistency: ReadConsistency,
    id: ResourceId,
    options: CallOptions = {},
  ): Promise<Resource> {
    this.#begin(options);
    checkConsistency(consistency);
    checkId(id, this.capabilities.limits);
    const wanted = freezeId(id);
    const reading = this.#engine.read(consistency, wanted, options);
    return checkReadResult(await abortable(reading, options.signal), wanted);
  }

  async writeCAS(resource: Resource, options: WriteOptions = {}): Promise<Resource> {
    this.#begin(options);
    checkResource(resource, this.capabilities.limits);
    const [stored] = await this.#write([{ kind: "write", resource }], options, false);
    return stored as Resource;
  }

  async deleteCAS(id: ResourceId, version: string, options: WriteOptions = {}): Promise<void> {
    this.#begin(options);
    checkId(id, this.capabilities.limits);
    checkVersion(version);
    await this.#write([{ kind: "delete", id, version }], options, false);
  }

  async batch(
    operations: readonly BatchOperation[],
    options: WriteOptions = {},
  ): Promise<readonly (Resource | undefined)[]> {
    this.#begin(options);
    checkBatch(operations, this.capabilities);
    return this.#write(operations, options, true);
  }

  async list(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ReadManyOptions = {},
  ): Promise<readonly Resource[]> {
    this.#begin(options);
    checkConsistency(consistency);
    const filter = this.#filter(type, tenancy, namePrefix);
    return abortable(this.#engine.list(consistency, filter, options), options.signal);
  }

  async listPage(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ListPageOptions = {},
  ): Promise<ListPage> {
    const filter = this.#beginPage(consistency, { type, tenancy, namePrefix }, options);
    return abortable(this.#engine.listPage(consistency, filter, options), options.signal);
  }

  async listHeads(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ListPageOptions = {},
  ): Promise<ListPage<ResourceHead>> {
    const filter = this.#beginPage(consistency, { type, tenancy, namePrefix }, options);
    return abortable(this.#engine.listHeads(consistency, filter, options), options.signal);
  }

  async listByOwner(id: ResourceId, options: ReadManyOptions = {}): Promise<readonly Resource[]> {
    this.#begin(options);
    checkId(id, this.capabilities.limits);
    return abortable(this.#engine.listByOwner(freezeId(id), options), options.signal);
  }

  async watchList(
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: WatchOptions = {},
  ): Promise<Watch> {
    this.#begin(options);
    const filter = this.#filter(type, tenancy, namePrefix);
    if (options.endOfSnapshot === true) this.#need("endOfSnapshot", "end-of-snapshot marker");
    if (options.resumeAfter !== undefined) this.#need("resume", "watch resume");
    return this.#engine.watch(filter, { ...options });
  }

  async snapshot(options: ReadManyOptions = {}): Promise<Snapshot> {
    this.#begin(options);
    this.#need("snapshot", "snapshot");
    return this.#engine.snapshot(options);
  }

  async restore(options: CallOptions = {}): Promise<Restore> {
    this.#begin(options);
    this.#need("restore", "restore");
    return this.#engine.restore(() => this.checkOpen());
  }

  async close(): Promise<void> {
    this.#closing ??= this.#engine.close();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Refuses calls after `close`. */
  protected checkOpen(): void {
    if (this.#closing !== undefined) throw closedError();
  }

  #begin(options: CallOptions): void {
    options.signal?.throwIfAborted();
    this.checkOpen();
  }

  #need(
    capability: "endOfSnapshot" | "resume" | "snapshot" | "restore" | "pagedList",
    what: string,
  ) {
    if (!this.capabilities[capability]) throw unsupported(this.capabilities, what);
  }

  /** A checked filter, independent of what the caller does with its parts afterwards. */
  #filter(type: UnversionedType, tenancy: Tenancy, namePrefix: string): ResourceFilter {
    checkFilter(type, tenancy, namePrefix, this.capabilities.limits);
    return { type: { group: type.group, kind: type.kind }, tenancy: { ...tenancy }, namePrefix };
  }

  #beginPage(
    consistency: ReadConsistency,
    { type, tenancy, namePrefix }: ResourceFilter,
    options: ListPageOptions,
  ): ResourceFilter {
    this.#begin(options);
    this.#need("pagedList", "paged lists");
    checkConsistency(consistency);
    return this.#filter(type, tenancy, namePrefix);
  }

  #write(
    operations: readonly BatchOperation[],
    options: WriteOptions,
    batch: boolean,
  ): Promise<readonly (Resource | undefined)[]> {
    const guards = options.guards ?? [];
    checkGuards(guards, this.capabilities);
    const writing = this.#engine.write({ operations, guards, batch }, options);
    return abortable(writing, options.signal);
  }
}
