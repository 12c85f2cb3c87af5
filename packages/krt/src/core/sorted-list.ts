/** A chunk above this length is split in two. */
const CHUNK = 512;

/**
 * Members in an order, of which any can be added, removed, and found by its rank, at about the same cost however many there are: the
 * list is kept in chunks, so that little is moved.
 *
 * Invariant: the chunks one after the other are in the order, none is empty, and none is longer than {@link CHUNK}.
 *
 * `compare` must tell any two members apart. What it throws is thrown by `add`, and the list is as before. One that is no order, or
 * changes its mind, makes the order wrong, and nothing else.
 */
export class SortedList<M> {
  readonly #compare: (a: M, b: M) => number;
  readonly #chunks: M[][] = [];
  #size = 0;

  constructor(compare: (a: M, b: M) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#size;
  }

  add(member: M): void {
    const at = Math.min(this.#chunkOf(member), Math.max(this.#chunks.length - 1, 0));
    const chunk = this.#chunks[at];
    if (chunk === undefined) {
      this.#chunks.push([member]);
    } else {
      chunk.splice(this.#placeIn(chunk, member), 0, member);
      if (chunk.length > CHUNK) this.#chunks.splice(at + 1, 0, chunk.splice(chunk.length >> 1));
    }
    this.#size++;
  }

  /** Does nothing where it is not a member. */
  remove(member: M): void {
    if (this.#removeFrom(this.#guess(member), member)) return;
    // The order is not what it was when the member came: it is somewhere else.
    for (let at = 0; at < this.#chunks.length; at++) if (this.#removeFrom(at, member)) return;
  }

  #guess(member: M): number {
    try {
      return this.#chunkOf(member);
    } catch {
      return -1;
    }
  }

  #removeFrom(at: number, member: M): boolean {
    const chunk = this.#chunks[at];
    const place = chunk?.indexOf(member) ?? -1;
    if (chunk === undefined || place < 0) return false;
    chunk.splice(place, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
    this.#size--;
    return true;
  }

  /** The members from the rank `start` to before the rank `end`. */
  slice(start: number, end: number): M[] {
    const found: M[] = [];
    let rank = 0;
    for (const chunk of this.#chunks) {
      if (rank >= end) break;
      if (rank + chunk.length > start) {
        const from = Math.max(start - rank, 0);
        for (let i = from; i < chunk.length && rank + i < end; i++) found.push(chunk[i] as M);
      }
      rank += chunk.length;
    }
    return found;
  }

  *[Symbol.iterator](): IterableIterator<M> {
    for (const chunk of this.#chunks) yield* chunk;
  }

  /** The first chunk whose last member is not before this one; one too far where there is none. */
  #chunkOf(member: M): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const chunk = this.#chunks[middle] as M[];
      if (this.#compare(chunk[chunk.length - 1] as M, member) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #placeIn(chunk: readonly M[], member: M): number {
    let low = 0;
    let high = chunk.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(chunk[middle] as M, member) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
