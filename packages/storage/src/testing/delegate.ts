import type { StorageCapabilities } from "../capabilities.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../list/types.ts";
import type { Resource, ResourceId, Tenancy, UnversionedType } from "../resource.ts";
import type {
  BatchOperation,
  CallOptions,
  ReadConsistency,
  Restore,
  Snapshot,
  StorageBackend,
  Watch,
  WatchOptions,
  WriteOptions,
} from "../types.ts";

/** A backend that passes everything on; the base of those that disturb some of it. */
export class DelegatingStorage implements StorageBackend {
  readonly inner: StorageBackend;

  constructor(inner: StorageBackend) {
    this.inner = inner;
  }

  get capabilities(): StorageCapabilities {
    return this.inner.capabilities;
  }

  read(consistency: ReadConsistency, id: ResourceId, options?: CallOptions): Promise<Resource> {
    return this.inner.read(consistency, id, options);
  }

  writeCAS(resource: Resource, options?: WriteOptions): Promise<Resource> {
    return this.inner.writeCAS(resource, options);
  }

  deleteCAS(id: ResourceId, version: string, options?: WriteOptions): Promise<void> {
    return this.inner.deleteCAS(id, version, options);
  }

  list(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options?: CallOptions,
  ): Promise<readonly Resource[]> {
    return this.inner.list(consistency, type, tenancy, namePrefix, options);
  }

  listPage(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options?: ListPageOptions,
  ): Promise<ListPage> {
    return this.inner.listPage(consistency, type, tenancy, namePrefix, options);
  }

  listHeads(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options?: ListPageOptions,
  ): Promise<ListPage<ResourceHead>> {
    return this.inner.listHeads(consistency, type, tenancy, namePrefix, options);
  }

  watchList(
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options?: WatchOptions,
  ): Promise<Watch> {
    return this.inner.watchList(type, tenancy, namePrefix, options);
  }

  listByOwner(id: ResourceId, options?: CallOptions): Promise<readonly Resource[]> {
    return this.inner.listByOwner(id, options);
  }

  batch(
    operations: readonly BatchOperation[],
    options?: WriteOptions,
  ): Promise<readonly (Resource | undefined)[]> {
    return this.inner.batch(operations, options);
  }

  snapshot(options?: CallOptions): Promise<Snapshot> {
    return this.inner.snapshot(options);
  }

  restore(options?: CallOptions): Promise<Restore> {
    return this.inner.restore(options);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
