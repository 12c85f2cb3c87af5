/** A seeded source of choices: equal seeds give equal simulations. */
export interface Chance {
  /** A number in [0, 1). */
  next(): number;
  /** An integer in [0, bound). */
  below(bound: number): number;
  /** True with a probability. */
  maybe(probability: number): boolean;
  pick<T>(items: readonly [T, ...T[]]): T;
  bytes(count: number): Uint8Array;
}

/** Choices by the mulberry32 recurrence, which is ample for choosing steps of tests. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    next,
    below,
    maybe: (probability) => next() < probability,
    pick: (items) => items[below(items.length)] ?? items[0],
    bytes: (count) => Uint8Array.from({ length: count }, () => below(256)),
  };
}
