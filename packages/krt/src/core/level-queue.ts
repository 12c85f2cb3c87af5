/** What the queue needs of a node. */
export interface Leveled<N> {
  /** Longest path from a source. Only rises. */
  level: number;
  /** Whether it is in the queue. Owned by the queue, as is `nextQueued`. */
  queued: boolean;
  nextQueued: N | undefined;
}

/**
 * The nodes with work in a turn, lowest level first.
 *
 * Invariants: a node is in at most one bucket (`queued`), which is a list through `nextQueued`; `#lowest`
 * is not above the first bucket that holds a node. A node whose level rose while it waited sits in the
 * bucket of its former level and is moved when it is met there: it is never handed out before its level.
 */
export class LevelQueue<N extends Leveled<N>> {
  readonly #buckets: (N | undefined)[] = [];
  #lowest = 0;
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  push(node: N): void {
    if (node.queued) return;
    node.queued = true;
    this.#count++;
    this.#place(node);
  }

  /** Takes a node of the lowest level, or `undefined` when there is none. */
  pop(): N | undefined {
    if (this.#count === 0) return undefined;
    for (;;) {
      const node = this.#buckets[this.#lowest];
      if (node === undefined) {
        this.#lowest++;
        continue;
      }
      this.#buckets[this.#lowest] = node.nextQueued;
      node.nextQueued = undefined;
      if (node.level > this.#lowest) {
        this.#place(node);
        continue;
      }
      this.#count--;
      node.queued = false;
      return node;
    }
  }

  /** Whether a node of this level or below may be waiting. Never false when one is. */
  hasUpTo(level: number): boolean {
    if (this.#count === 0) return false;
    for (let i = this.#lowest; i <= level; i++) {
      if (this.#buckets[i] !== undefined) return true;
    }
    return false;
  }

  #place(node: N): void {
    const { level } = node;
    while (this.#buckets.length <= level) this.#buckets.push(undefined);
    node.nextQueued = this.#buckets[level];
    this.#buckets[level] = node;
    if (level < this.#lowest) this.#lowest = level;
  }
}
