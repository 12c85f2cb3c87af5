/*
 * Bare assertions. A program makes thousands of comparisons, and those of a test runner cost more than
 * the programs themselves.
 */

export function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

export function same(found: unknown, expected: unknown, what: string): void {
  if (!Object.is(found, expected)) {
    throw new Error(`${what}: found ${String(found)}, expected ${String(expected)}`);
  }
}

/** Compares two maps of primitives. */
export function sameMaps<K, V>(
  found: ReadonlyMap<K, V>,
  expected: ReadonlyMap<K, V>,
  what: string,
): void {
  const text = (map: ReadonlyMap<K, V>) =>
    JSON.stringify(Array.from(map, (pair) => pair.join("=")).sort());
  let equal = found.size === expected.size;
  for (const [key, value] of expected) equal &&= Object.is(found.get(key), value);
  if (!equal) throw new Error(`${what}: found ${text(found)}, expected ${text(expected)}`);
}

export function sameSets(
  found: ReadonlySet<unknown>,
  expected: ReadonlySet<unknown>,
  what: string,
): void {
  let equal = found.size === expected.size;
  for (const member of expected) equal &&= found.has(member);
  if (!equal) throw new Error(`${what}: sets of ${found.size} and ${expected.size} differ`);
}
