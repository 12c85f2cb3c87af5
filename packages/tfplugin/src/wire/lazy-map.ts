/** A map whose values are made when they are asked for first. */
export class LazyMap<V> implements ReadonlyMap<string, V> {
  readonly #names: ReadonlyMap<string, unknown>;
  readonly #make: (name: string) => V;
  readonly #made = new Map<string, V>();

  /**
   * @param names whose keys are the keys of this map, in this order
   * @param make makes the value of one of them; called again only after it threw
   */
  constructor(names: ReadonlyMap<string, unknown>, make: (name: string) => V) {
    this.#names = names;
    this.#make = make;
  }

  get size(): number {
    return this.#names.size;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  get(name: string): V | undefined {
    const known = this.#made.get(name);
    if (known !== undefined || !this.#names.has(name)) return known;
    const value = this.#make(name);
    this.#made.set(name, value);
    return value;
  }

  keys(): MapIterator<string> {
    return this.#names.keys();
  }

  *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value;
  }

  *entries(): MapIterator<[string, V]> {
    for (const name of this.#names.keys()) yield [name, this.get(name) as V];
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries();
  }

  forEach(callback: (value: V, name: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [name, value] of this) callback(value, name, this);
  }
}
