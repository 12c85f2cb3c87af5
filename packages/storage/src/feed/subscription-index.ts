import type { ResourceFilter } from "../key.ts";
import { type ResourceId, type Tenancy, WILDCARD } from "../resource.ts";

// Finds the subscribers of a resource without asking each of them. Three levels:
//
//   group and kind -> tenancy pattern -> name prefix -> subscribers
//
// A resource has one group and kind, at most eight tenancy patterns (each field exact or wildcard,
// and only the combinations in use are tried), and one candidate prefix per prefix length in
// use. So the cost of an event depends on the shapes of the filters and on the subscribers that
// match, not on how many subscribers there are.

/** Wildcard bits of a tenancy pattern. */
const PARTITION = 1;
const PEER = 2;
const NAMESPACE = 4;

interface TypeNode<T> {
  /** Subscribers by tenancy pattern. */
  readonly patterns: Map<string, PrefixNode<T>>;
  /** How many patterns of each wildcard combination exist, by its bits. */
  readonly masks: number[];
}

interface PrefixNode<T> {
  readonly prefixes: Map<string, Set<T>>;
  /** How many different prefixes of each length exist. */
  readonly lengths: Map<number, number>;
}

/** An index of subscribers by what they watch. */
export class SubscriptionIndex<T> {
  readonly #types = new Map<string, TypeNode<T>>();
  #size = 0;

  /** Number of subscribers. */
  get size(): number {
    return this.#size;
  }

  /** Adds a subscriber; the result removes it and is harmless when repeated. */
  add(filter: ResourceFilter, subscriber: T): () => void {
    const typeKey = `${filter.type.group}\0${filter.type.kind}`;
    const mask = maskOf(filter.tenancy);
    const pattern = patternKey(filter.tenancy, mask);
    const prefix = filter.namePrefix;

    const type = getOrInsert(this.#types, typeKey, () => ({
      patterns: new Map<string, PrefixNode<T>>(),
      masks: Array.from({ length: 8 }, () => 0),
    }));
    const node = getOrInsert(type.patterns, pattern, () => {
      type.masks[mask] = (type.masks[mask] ?? 0) + 1;
      return { prefixes: new Map<string, Set<T>>(), lengths: new Map<number, number>() };
    });
    const subscribers = getOrInsert(node.prefixes, prefix, () => {
      node.lengths.set(prefix.length, (node.lengths.get(prefix.length) ?? 0) + 1);
      return new Set<T>();
    });
    subscribers.add(subscriber);
    this.#size += 1;

    return () => {
      if (!subscribers.delete(subscriber)) return;
      this.#size -= 1;
      if (subscribers.size > 0) return;
      node.prefixes.delete(prefix);
      const left = (node.lengths.get(prefix.length) ?? 1) - 1;
      if (left === 0) node.lengths.delete(prefix.length);
      else node.lengths.set(prefix.length, left);
      if (node.prefixes.size > 0) return;
      type.patterns.delete(pattern);
      type.masks[mask] = (type.masks[mask] ?? 1) - 1;
      if (type.patterns.size === 0) this.#types.delete(typeKey);
    };
  }

  /** Calls `visit` once per subscriber whose filter selects a resource with this id. */
  match(id: ResourceId, visit: (subscriber: T) => void): void {
    const { type, tenancy, name } = id;
    const found = this.#types.get(`${type.group}\0${type.kind}`);
    if (found === undefined) return;
    for (let mask = 0; mask < 8; mask += 1) {
      if (found.masks[mask] === 0) continue;
      const node = found.patterns.get(patternKey(tenancy, mask));
      if (node === undefined) continue;
      for (const length of node.lengths.keys()) {
        if (length > name.length) continue;
        for (const subscriber of node.prefixes.get(name.slice(0, length)) ?? []) visit(subscriber);
      }
    }
  }

  /** All subscribers, in no promised order. */
  *all(): Generator<T> {
    for (const type of this.#types.values()) {
      for (const node of type.patterns.values()) {
        for (const subscribers of node.prefixes.values()) yield* subscribers;
      }
    }
  }
}

function maskOf(tenancy: Tenancy): number {
  return (
    (tenancy.partition === WILDCARD ? PARTITION : 0) |
    (tenancy.peerName === WILDCARD ? PEER : 0) |
    (tenancy.namespace === WILDCARD ? NAMESPACE : 0)
  );
}

/** The tenancy with the fields of `mask` replaced by the wildcard, which no stored field can be. */
function patternKey(tenancy: Tenancy, mask: number): string {
  const partition = (mask & PARTITION) === 0 ? tenancy.partition : WILDCARD;
  const peer = (mask & PEER) === 0 ? tenancy.peerName : WILDCARD;
  const namespace = (mask & NAMESPACE) === 0 ? tenancy.namespace : WILDCARD;
  return `${partition}\0${peer}\0${namespace}`;
}

function getOrInsert<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = create();
  map.set(key, made);
  return made;
}
