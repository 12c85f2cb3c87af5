import type { LazyMap } from "./lazy-map.ts";

/**
 * A set that is mostly of one: the member itself, or a `Set` from the second one on. Saves a `Set` per
 * key where most keys have one member, as with keyed fetches.
 */
export type Bucket<M extends object> = M | Set<M>;

export function addToBucket<K, M extends object>(
  map: LazyMap<K, Bucket<M>>,
  key: K,
  member: M,
): void {
  const bucket = map.get(key);
  if (bucket === undefined) map.set(key, member);
  else if (bucket instanceof Set) bucket.add(member);
  else if (bucket !== member) map.set(key, new Set<M>().add(bucket).add(member));
}

export function deleteFromBucket<K, M extends object>(
  map: LazyMap<K, Bucket<M>>,
  key: K,
  member: M,
): void {
  const bucket = map.get(key);
  if (bucket === member) {
    map.delete(key);
  } else if (bucket instanceof Set) {
    bucket.delete(member);
    if (bucket.size === 0) map.delete(key);
  }
}

/** The members as something to iterate. A lone member is wrapped. */
export function bucketMembers<M extends object>(bucket: Bucket<M> | undefined): Iterable<M> {
  if (bucket === undefined) return [];
  return bucket instanceof Set ? bucket : [bucket];
}
