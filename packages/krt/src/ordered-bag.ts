const NOT_A_NUMBER: unknown = Number.NaN;

/**
 * Values with multiplicities, of which the first in an order is asked for.
 *
 * Invariant: `#heap` is a binary heap that holds every value of `#counts` at least once. It may hold
 * values that are gone, and some twice; those are skipped when they come to the top, and swept out when
 * they are the majority. So all operations take O(log n), spread over many. `NaN`, which has no place in an
 * order, is only counted, and is the first while it is there.
 */
export class OrderedBag<V> {
  readonly #before: (a: V, b: V) => boolean;
  readonly #counts = new Map<V, number>();
  #heap: V[] = [];

  constructor(before: (a: V, b: V) => boolean) {
    this.#before = before;
  }

  add(value: V): void {
    const count = this.#counts.get(value) ?? 0;
    this.#counts.set(value, count + 1);
    if (count > 0 || Number.isNaN(value)) return;
    this.#heap.push(value);
    this.#rise(this.#heap.length - 1);
  }

  remove(value: V): void {
    const count = this.#counts.get(value) ?? 0;
    if (count > 1) this.#counts.set(value, count - 1);
    else this.#counts.delete(value);
    if (this.#heap.length > 2 * this.#counts.size + 16) this.#rebuild();
  }

  /** The first value, or `undefined` when there is none. */
  first(): V | undefined {
    if (this.#counts.has(NOT_A_NUMBER as V)) return NOT_A_NUMBER as V;
    while (this.#heap.length > 0) {
      const top = this.#heap[0] as V;
      if (this.#counts.has(top)) return top;
      const last = this.#heap.pop() as V;
      if (this.#heap.length === 0) break;
      this.#heap[0] = last;
      this.#sink(0);
    }
    return undefined;
  }

  #rebuild(): void {
    // A sorted array is a heap.
    const ordered = [...this.#counts.keys()].filter((value) => !Number.isNaN(value));
    this.#heap = ordered.sort((a, b) => (this.#before(a, b) ? -1 : 1));
  }

  #rise(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#before(this.#heap[at] as V, this.#heap[parent] as V)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(from: number): void {
    let at = from;
    for (;;) {
      let first = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (
          child < this.#heap.length &&
          this.#before(this.#heap[child] as V, this.#heap[first] as V)
        ) {
          first = child;
        }
      }
      if (first === at) return;
      this.#swap(at, first);
      at = first;
    }
  }

  #swap(a: number, b: number): void {
    const kept = this.#heap[a] as V;
    this.#heap[a] = this.#heap[b] as V;
    this.#heap[b] = kept;
  }
}
