/** Cells of the table beyond which sequences are not aligned but compared by position. */
const MAX_CELLS = 1_000_000;

/**
 * Pairs up two sequences so that as many equal elements as possible stay together, in order. What is left between two
 * equal elements is paired by position: one that was replaced by another is a pair, what is over is alone.
 *
 * A longest common subsequence by dynamic programming, after equal beginnings and ends are taken off. Where the middles
 * are too long for a table, they are paired by position.
 */
export function* alignSequences<T>(
  left: readonly T[],
  right: readonly T[],
  same: (a: T, b: T) => boolean,
): Generator<readonly [T | undefined, T | undefined]> {
  const equal = (i: number, j: number): boolean => {
    const a = left[i];
    const b = right[j];
    return a !== undefined && b !== undefined && same(a, b);
  };
  let start = 0;
  while (start < Math.min(left.length, right.length) && equal(start, start)) start += 1;
  let leftEnd = left.length;
  let rightEnd = right.length;
  while (leftEnd > start && rightEnd > start && equal(leftEnd - 1, rightEnd - 1)) {
    leftEnd -= 1;
    rightEnd -= 1;
  }
  for (let i = 0; i < start; i += 1) yield [left[i], right[i]];
  let i = start;
  let j = start;
  for (const [a, b] of commonPairs(start, leftEnd, rightEnd, equal)) {
    yield* between(left, right, i, a, j, b);
    yield [left[a], right[b]];
    i = a + 1;
    j = b + 1;
  }
  yield* between(left, right, i, leftEnd, j, rightEnd);
  for (let k = leftEnd; k < left.length; k += 1) yield [left[k], right[k - leftEnd + rightEnd]];
}

function* between<T>(
  left: readonly T[],
  right: readonly T[],
  i: number,
  leftEnd: number,
  j: number,
  rightEnd: number,
): Generator<readonly [T | undefined, T | undefined]> {
  for (let k = 0; k < Math.max(leftEnd - i, rightEnd - j); k += 1) {
    yield [i + k < leftEnd ? left[i + k] : undefined, j + k < rightEnd ? right[j + k] : undefined];
  }
}

/** Positions of a longest common subsequence of the two middles. */
function commonPairs(
  start: number,
  leftEnd: number,
  rightEnd: number,
  equal: (i: number, j: number) => boolean,
): (readonly [number, number])[] {
  const rows = leftEnd - start;
  const columns = rightEnd - start;
  if (rows === 0 || columns === 0 || rows * columns > MAX_CELLS) return [];
  const width = columns + 1;
  // lengths[r * width + c]: the longest common subsequence of what is behind row r and column c.
  const lengths = new Uint32Array((rows + 1) * width);
  for (let r = rows - 1; r >= 0; r -= 1) {
    for (let c = columns - 1; c >= 0; c -= 1) {
      const here = r * width + c;
      const diagonal = (lengths[here + width + 1] ?? 0) + 1;
      const skipped = Math.max(lengths[here + width] ?? 0, lengths[here + 1] ?? 0);
      lengths[here] = equal(start + r, start + c) ? Math.max(diagonal, skipped) : skipped;
    }
  }
  const result: (readonly [number, number])[] = [];
  let r = 0;
  let c = 0;
  while (r < rows && c < columns) {
    const here = r * width + c;
    const below = lengths[here + width] ?? 0;
    const beside = lengths[here + 1] ?? 0;
    if ((lengths[here] ?? 0) > Math.max(below, beside)) {
      result.push([start + r, start + c]);
      r += 1;
      c += 1;
    } else if (below >= beside) r += 1;
    else c += 1;
  }
  return result;
}
