import type { SchemaReply } from "@stackwright/mux/router";

/** Schemas of providers by what they were read from, so that one program is asked and understood once. */
export interface SchemaCache {
  get(key: string): CachedSchema | undefined;
  set(key: string, schema: CachedSchema): void;
}

/** A schema as it was read from a provider. */
export interface CachedSchema {
  readonly reply: SchemaReply;
  /** The provider works without being asked for its schema in the same process. */
  readonly optional: boolean;
}

/**
 * A cache in memory that keeps the schemas used last.
 *
 * @param capacity how many schemas are kept, at least 1
 */
export function createSchemaCache(capacity = 32): SchemaCache {
  const entries = new Map<string, CachedSchema>();
  return {
    get(key) {
      const found = entries.get(key);
      if (found === undefined) return undefined;
      entries.delete(key);
      entries.set(key, found);
      return found;
    },
    set(key, schema) {
      entries.delete(key);
      entries.set(key, schema);
      for (const [oldest] of entries) {
        if (entries.size <= Math.max(1, capacity)) break;
        entries.delete(oldest);
      }
    },
  };
}
