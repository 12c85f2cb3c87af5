/** A source of choices that a number decides: the same number gives the same choices. */
export class Dice {
  #state: number;

  /** @param seed any whole number; its lowest 32 bits count */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    // A step of mulberry32.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  /** Whether something happens that happens `percent` times in a hundred. */
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  /** One of several; throws where there is none. */
  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (items.length === 0) throw new RangeError("there is nothing to pick");
    return item as T;
  }

  /** So many items, from `least` to `most` of them. */
  times<T>(least: number, most: number, make: (index: number) => T): T[] {
    return Array.from({ length: least + this.below(most - least + 1) }, (_, index) => make(index));
  }
}
