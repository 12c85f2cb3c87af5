import {
  type ReadManyOptions,
  type Resource,
  type ResourceId,
  type StorageBackend,
  StorageError,
} from "@stackwright/storage";

/** A store in which the content of some records has decayed, as its engines report it. */
export function decayedStore<S extends StorageBackend>(
  inner: S,
  isDecayed: (id: ResourceId) => boolean,
): S {
  const errorOf = (id: ResourceId) =>
    new StorageError("STORAGE_CORRUPT", `${id.type.kind} "${id.name}" is damaged`, {
      details: { id },
    });
  const withoutDecayed = <T extends Pick<Resource, "id" | "version">>(
    found: readonly T[],
    { onDamaged }: ReadManyOptions,
  ) =>
    found.filter(({ id, version }) => {
      if (!isDecayed(id)) return true;
      if (onDamaged === undefined) throw errorOf(id);
      onDamaged({ id, version, reason: "its checksum", body: new Uint8Array() });
      return false;
    });
  const list: StorageBackend["list"] = async (consistency, type, tenancy, prefix, options = {}) => {
    const found = await inner.list(consistency, type, tenancy, prefix, options);
    return withoutDecayed(found, options);
  };
  const listPage: StorageBackend["listPage"] = async (
    consistency,
    type,
    tenancy,
    prefix,
    options = {},
  ) => {
    const found = await inner.listPage(consistency, type, tenancy, prefix, options);
    return { ...found, resources: withoutDecayed(found.resources, options) };
  };
  const listHeads: StorageBackend["listHeads"] = async (
    consistency,
    type,
    tenancy,
    prefix,
    options = {},
  ) => {
    const found = await inner.listHeads(consistency, type, tenancy, prefix, options);
    return { ...found, resources: withoutDecayed(found.resources, options) };
  };
  const snapshot: StorageBackend["snapshot"] = async (options = {}) => {
    const whole = await inner.snapshot(options);
    return {
      async *[Symbol.asyncIterator]() {
        for await (const resource of whole) yield* withoutDecayed([resource], options);
      },
      close: async () => whole.close(),
      [Symbol.asyncDispose]: async () => whole.close(),
    };
  };
  const read: StorageBackend["read"] = async (consistency, id, options) => {
    if (isDecayed(id)) throw errorOf(id);
    return inner.read(consistency, id, options);
  };
  return new Proxy(inner, {
    get: (target, key) => {
      if (key === "list") return list;
      if (key === "listPage") return listPage;
      if (key === "listHeads") return listHeads;
      if (key === "snapshot") return snapshot;
      if (key === "read") return read;
      const member: unknown = Reflect.get(target, key, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
