import {
  type BatchOperation,
  type Resource,
  type ResourceId,
  readStored,
  type StorageBackend,
  StorageError,
  type Tenancy,
  type UnversionedType,
  WILDCARD,
  type WriteOptions,
} from "@stackwright/storage";

/** What a record is called once it would be gone. */
export type RemovedId = Pick<ResourceId, "type" | "tenancy" | "name">;

/** A store with the changes that would be made to it. */
interface PreviewStorage {
  /** Reads show the changes; watches, lists by owner and restores are refused. */
  readonly storage: StorageBackend;
  /** What would be removed of what is stored, in the order in which it would be. */
  readonly removed: () => readonly RemovedId[];
}

/**
 * A store on which work is tried out: nothing is written to `inner`, and reads of the preview show what was written to it and deleted from
 * it. It is for work of one process, such as a cleaning, whose records it keeps in memory by name.
 */
export function previewStorage(inner: StorageBackend): PreviewStorage {
  /** What is different by now; undefined where it would be gone. */
  let changed: ReadonlyMap<string, Resource | undefined> = new Map();
  const gone = new Map<string, RemovedId>();
  let versions = 0;

  const find = async (id: ResourceId): Promise<Resource | undefined> => {
    const key = keyOf(id);
    return changed.has(key) ? changed.get(key) : readStored(inner, "strong", { ...id, uid: "" });
  };

  const batch: StorageBackend["batch"] = async (operations, { guards = [] }: WriteOptions = {}) => {
    for (const { id, version } of guards) {
      const found = await find(id);
      const holds =
        version === ""
          ? found === undefined
          : found?.version === version && (id.uid === "" || found.id.uid === id.uid);
      if (!holds) throw failed("STORAGE_GUARD_FAILED", id);
    }
    const next = new Map(changed);
    const results: (Resource | undefined)[] = [];
    const removed: ResourceId[] = [];
    for (const operation of operations) {
      const id = operation.kind === "write" ? operation.resource.id : operation.id;
      const found = await find(id);
      const after = apply(operation, found, () => `preview-${(versions += 1)}`);
      results.push(operation.kind === "write" ? after : undefined);
      if (after === found) continue;
      next.set(keyOf(id), after);
      if (after === undefined) removed.push(id);
    }
    changed = next;
    for (const { type, tenancy, name } of removed) {
      gone.set(keyOf({ type, tenancy, name }), { type, tenancy, name });
    }
    return results;
  };

  /** The page with what is different; what is new comes with the last one. */
  const shown = <T extends Pick<Resource, "id">>(
    found: readonly T[],
    written: (resource: Resource) => T,
    query: { type: UnversionedType; tenancy: Tenancy; prefix: string; isLast: boolean },
  ): T[] => {
    const here = found.filter(({ id }) => !changed.has(keyOf(id)));
    if (!query.isLast) return here;
    for (const resource of changed.values()) {
      if (resource !== undefined && matches(resource.id, query)) here.push(written(resource));
    }
    return here;
  };

  const storage: Partial<StorageBackend> = {
    read: async (consistency, id, options) => {
      if (!changed.has(keyOf(id))) return inner.read(consistency, id, options);
      const found = changed.get(keyOf(id));
      if (found !== undefined && (id.uid === "" || id.uid === found.id.uid)) return found;
      throw failed("STORAGE_NOT_FOUND", id);
    },
    writeCAS: async (resource, options) => {
      const [written] = await batch([{ kind: "write", resource }], options);
      return written ?? resource;
    },
    deleteCAS: async (id, version, options) => {
      await batch([{ kind: "delete", id, version }], options);
    },
    batch,
    list: async (consistency, type, tenancy, prefix, options) => {
      const found = await inner.list(consistency, type, tenancy, prefix, options);
      return shown(found, (one) => one, { type, tenancy, prefix, isLast: true });
    },
    listPage: async (consistency, type, tenancy, prefix, options) => {
      const page = await inner.listPage(consistency, type, tenancy, prefix, options);
      const isLast = page.continuation === undefined;
      const resources = shown(page.resources, (one) => one, { type, tenancy, prefix, isLast });
      return { ...page, resources };
    },
    listHeads: async (consistency, type, tenancy, prefix, options) => {
      const page = await inner.listHeads(consistency, type, tenancy, prefix, options);
      const isLast = page.continuation === undefined;
      const resources = shown(page.resources, headOf, { type, tenancy, prefix, isLast });
      return { ...page, resources };
    },
    snapshot: async (options) => {
      const whole = await inner.snapshot(options);
      const close = async (): Promise<void> => whole.close();
      return {
        async *[Symbol.asyncIterator]() {
          for await (const one of whole) if (!changed.has(keyOf(one.id))) yield one;
          for (const one of changed.values()) if (one !== undefined) yield one;
        },
        close,
        [Symbol.asyncDispose]: close,
      };
    },
  };
  const refused = ["watchList", "listByOwner", "restore"];
  return {
    storage: new Proxy(inner, {
      get: (target, key) => {
        const own: unknown = Reflect.get(storage, key);
        if (own !== undefined) return own;
        if (typeof key === "string" && refused.includes(key)) {
          return async (): Promise<never> => {
            throw new StorageError("STORAGE_UNSUPPORTED", `a preview of a store has no ${key}`);
          };
        }
        const member: unknown = Reflect.get(target, key, target);
        return typeof member === "function" ? (member.bind(target) as unknown) : member;
      },
    }),
    removed: () => [...gone.values()],
  };
}

/** What is stored after an operation; what was found where it has no effect. */
function apply(
  operation: BatchOperation,
  found: Resource | undefined,
  nextVersion: () => string,
): Resource | undefined {
  if (operation.kind === "delete") {
    const { id, version } = operation;
    if (found === undefined || found.id.uid !== id.uid) return found;
    if (found.version !== version) throw failed("STORAGE_CAS_FAILURE", id);
    return undefined;
  }
  const { resource } = operation;
  if (found !== undefined && found.id.uid !== resource.id.uid) {
    throw failed("STORAGE_WRONG_UID", resource.id);
  }
  if ((found?.version ?? "") !== resource.version) throw failed("STORAGE_CAS_FAILURE", resource.id);
  return { ...resource, version: nextVersion() };
}

function headOf({ data, ...head }: Resource) {
  return {
    ...head,
    ...(data !== undefined && { data: { typeUrl: data.typeUrl, bytes: data.value.byteLength } }),
  };
}

function matches(
  { type, tenancy, name }: ResourceId,
  query: { readonly type: UnversionedType; readonly tenancy: Tenancy; readonly prefix: string },
): boolean {
  const isAt = (part: keyof Tenancy): boolean =>
    query.tenancy[part] === WILDCARD || query.tenancy[part] === tenancy[part];
  return (
    type.group === query.type.group &&
    type.kind === query.type.kind &&
    isAt("partition") &&
    isAt("peerName") &&
    isAt("namespace") &&
    name.startsWith(query.prefix)
  );
}

function keyOf({ type, tenancy, name }: RemovedId): string {
  const { partition, peerName, namespace } = tenancy;
  return [type.group, type.kind, partition, peerName, namespace, name].join("\0");
}

function failed(
  code: "STORAGE_GUARD_FAILED" | "STORAGE_NOT_FOUND" | "STORAGE_CAS_FAILURE" | "STORAGE_WRONG_UID",
  id: ResourceId,
): StorageError {
  return new StorageError(code, `${id.type.kind} "${id.name}": ${code}`, { details: { id } });
}
