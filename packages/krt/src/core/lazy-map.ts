/** How many keys without a value are kept at least and at most, and an eighth of all in between. */
const MIN_LEFT = 64;
const MAX_LEFT = 4096;

/**
 * A map whose keys may come and go often. The maps of V8 keep a deleted entry in its hash chain until they
 * are rebuilt, so that one key which is deleted and set again and again makes a chain as long as the
 * map. This one keeps the keys of deleted values for a while and drops many together.
 *
 * Invariant: `#left` is the number of keys in the map whose value is `undefined`.
 */
export class LazyMap<K, V extends {}> {
  readonly #map = new Map<K, V | undefined>();
  #left = 0;

  get size(): number {
    return this.#map.size - this.#left;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  set(key: K, value: V): void {
    if (this.#left > 0 && this.#map.get(key) === undefined && this.#map.has(key)) this.#left--;
    this.#map.set(key, value);
  }

  delete(key: K): void {
    if (this.#map.get(key) === undefined) return;
    this.#map.set(key, undefined);
    this.#left++;
    if (this.#left > Math.min(MAX_LEFT, Math.max(MIN_LEFT, this.#map.size >> 3))) this.#purge();
  }

  #purge(): void {
    for (const [key, value] of this.#map) if (value === undefined) this.#map.delete(key);
    this.#left = 0;
  }

  *keys(): IterableIterator<K> {
    for (const [key, value] of this.#map) if (value !== undefined) yield key;
  }

  *values(): IterableIterator<V> {
    for (const value of this.#map.values()) if (value !== undefined) yield value;
  }
}
