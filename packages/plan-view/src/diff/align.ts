/** A pair of positions, before and after. */
export type Pair = readonly [before: number, after: number];

/** How two sequences are compared. */
interface Alignable {
  readonly before: number;
  readonly after: number;
  /** Whether the two are the same. */
  readonly equal: (before: number, after: number) => boolean;
  /** Whether the two are the same or have the same key: pairs whatever they cost. */
  readonly related: (before: number, after: number) => boolean;
  /** Cost of removing an element or inserting one. */
  readonly removeCost: (before: number) => number;
  readonly insertCost: (after: number) => number;
  /** Cost of showing two as one that changed; Infinity if never. */
  readonly pairCost: (before: number, after: number) => number;
}

/** Cells of the table up to which the cheapest pairs of one list or set are computed. */
export const MAX_CELLS = 1_000_000;

/**
 * The pairs of the cheapest alignment of two sequences in which no pairs cross. What both begin and end with is paired first.
 * If what is left is too large for the table, only equal elements and those of one key, near each other, are paired.
 *
 * Invariants: the pairs rise on both sides; the cost (pairs, removals, insertions) is minimal wherever the table was used.
 *
 * @param maxCells what is left of the caller's bound
 * @returns the pairs, and the cells of the table that was used
 */
export function align(
  sequences: Alignable,
  maxCells = MAX_CELLS,
): { readonly pairs: readonly Pair[]; readonly cells: number } {
  const { before, after, equal } = sequences;
  const shorter = Math.min(before, after);
  let start = 0;
  while (start < shorter && equal(start, start)) start++;
  let tail = 0;
  while (tail < shorter - start && equal(before - 1 - tail, after - 1 - tail)) tail++;
  const pairs: Pair[] = [];
  for (let position = 0; position < start; position++) pairs.push([position, position]);
  const ends: Pair = [before - tail, after - tail];
  const cells = (ends[0] - start) * (ends[1] - start);
  const exact = cells <= Math.min(maxCells, MAX_CELLS);
  // A loop: the arguments of one call are bounded, elements of a list are not.
  for (const pair of exact
    ? cheapest(sequences, start, ends)
    : nearestRelated(sequences, start, ends)) {
    pairs.push(pair);
  }
  for (let position = tail; position > 0; position--) {
    pairs.push([before - position, after - position]);
  }
  return { pairs, cells: exact ? cells : 0 };
}

function cheapest(
  { equal, removeCost, insertCost, pairCost }: Alignable,
  start: number,
  [endBefore, endAfter]: Pair,
): Pair[] {
  const rows = endBefore - start;
  const columns = endAfter - start;
  if (rows === 0 || columns === 0) return [];
  const width = columns + 1;
  // costs[r * width + c]: what the rest from row r and column c costs at least.
  const costs = new Float64Array((rows + 1) * width);
  const own = new Float64Array(rows * columns);
  const at = (row: number, column: number): number => costs[row * width + column] ?? 0;
  for (let row = rows - 1; row >= 0; row--) {
    costs[row * width + columns] = at(row + 1, columns) + removeCost(start + row);
  }
  for (let column = columns - 1; column >= 0; column--) {
    costs[rows * width + column] = at(rows, column + 1) + insertCost(start + column);
  }
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      const [left, right] = [start + row, start + column];
      const pair = equal(left, right) ? 0 : pairCost(left, right);
      own[row * columns + column] = pair;
      costs[row * width + column] = Math.min(
        at(row + 1, column + 1) + pair,
        at(row + 1, column) + removeCost(left),
        at(row, column + 1) + insertCost(right),
      );
    }
  }
  const pairs: Pair[] = [];
  let [row, column] = [0, 0];
  while (row < rows && column < columns) {
    const best = at(row, column);
    if (best === at(row + 1, column + 1) + (own[row * columns + column] ?? 0)) {
      pairs.push([start + row++, start + column++]);
    } else if (best === at(row + 1, column) + removeCost(start + row)) row++;
    else column++;
  }
  return pairs;
}

/** Related elements in a rising order, found greedily within a bounded distance: for sequences that are too large. */
function nearestRelated({ related }: Alignable, start: number, [rows, columns]: Pair): Pair[] {
  const reach = 64;
  const pairs: Pair[] = [];
  let column = start;
  for (let row = start; row < rows && column < columns; row++) {
    const end = Math.min(columns, column + reach);
    for (let other = column; other < end; other++) {
      if (!related(row, other)) continue;
      pairs.push([row, other]);
      column = other + 1;
      break;
    }
  }
  return pairs;
}
