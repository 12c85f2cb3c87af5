import { isStorageError } from "../errors.ts";
import type { UnversionedType } from "../resource.ts";
import type { BatchOperation, CallOptions, StorageBackend } from "../types.ts";
import { LagSamples } from "./lag-samples.ts";
import { observeWatch } from "./observe-watch.ts";
import type { ObservedOperation, StorageObserver } from "./storage-observer.ts";

/**
 * A store whose calls and watches are reported to an observer; it does nothing else, and closing it closes the store. `now` is a
 * monotonic clock, in milliseconds.
 */
export function observeStorage(
  storage: StorageBackend,
  observer: StorageObserver,
  now: () => number = () => performance.now(),
): StorageBackend {
  const lag = new LagSamples(now);
  const observe = async <T>(
    operation: ObservedOperation,
    type: UnversionedType | undefined,
    options: CallOptions | undefined,
    call: () => Promise<T>,
  ): Promise<T> => {
    const startedMs = now();
    const end = (error?: unknown): void => {
      const code = isStorageError(error) ? error.code : "STORAGE_INCONSISTENT";
      const failure = options?.signal?.aborted === true ? "canceled" : code;
      observer.ended({
        operation,
        type,
        durationMs: now() - startedMs,
        failure: error === undefined ? undefined : failure,
      });
    };
    try {
      const result = await call();
      end();
      return result;
    } catch (error) {
      end(error ?? new Error("no reason"));
      throw error;
    }
  };
  return {
    get capabilities() {
      return storage.capabilities;
    },
    read: async (consistency, id, options) =>
      observe("read", id.type, options, async () => storage.read(consistency, id, options)),
    writeCAS: async (resource, options) => {
      const stored = await observe("write", resource.id.type, options, async () =>
        storage.writeCAS(resource, options),
      );
      lag.acknowledged(stored);
      return stored;
    },
    deleteCAS: async (id, version, options) =>
      observe("delete", id.type, options, async () => storage.deleteCAS(id, version, options)),
    batch: async (operations, options) => {
      const stored = await observe("batch", typeOf(operations[0]), options, async () =>
        storage.batch(operations, options),
      );
      const last = stored.findLast((resource) => resource !== undefined);
      if (last !== undefined) lag.acknowledged(last);
      return stored;
    },
    list: async (consistency, type, tenancy, prefix, options) =>
      observe("list", type, options, async () =>
        storage.list(consistency, type, tenancy, prefix, options),
      ),
    listPage: async (consistency, type, tenancy, prefix, options) =>
      observe("list", type, options, async () =>
        storage.listPage(consistency, type, tenancy, prefix, options),
      ),
    listHeads: async (consistency, type, tenancy, prefix, options) =>
      observe("list", type, options, async () =>
        storage.listHeads(consistency, type, tenancy, prefix, options),
      ),
    listByOwner: async (id, options) =>
      observe("list", undefined, options, async () => storage.listByOwner(id, options)),
    watchList: async (type, tenancy, prefix, options) => {
      const watch = await observe("watch", type, options, async () =>
        storage.watchList(type, tenancy, prefix, options),
      );
      return observeWatch(watch, observer, lag);
    },
    snapshot: async (options) =>
      observe("snapshot", undefined, options, async () => storage.snapshot(options)),
    restore: async (options) =>
      observe("restore", undefined, options, async () => storage.restore(options)),
    close: async () => storage.close(),
    [Symbol.asyncDispose]: async () => storage.close(),
  };
}

function typeOf(operation: BatchOperation | undefined): UnversionedType | undefined {
  if (operation === undefined) return undefined;
  return operation.kind === "write" ? operation.resource.id.type : operation.id.type;
}
