import { MAX_CELLS, type Pair } from "./align.ts";

/** Elements on the larger side up to which the cheapest assignment is computed. */
const MAX_ASSIGNED = 200;

/** Two sets that are paired. */
interface Assignable {
  readonly before: number;
  readonly after: number;
  /** Infinity if the pair is forbidden. */
  readonly cost: (before: number, after: number) => number;
  /** What leaving both alone costs. */
  readonly alone: (before: number, after: number) => number;
}

/**
 * Pairs of two sets with the smallest total cost. Up to {@link MAX_ASSIGNED} elements the result is minimal (Kuhn and Munkres with
 * potentials), above that each element takes the cheapest one that is left. Sets with more pairs than the bound have none.
 *
 * @param maxCells what is left of the caller's bound
 * @returns the pairs, and the number of pairs that were compared
 */
export function assign(
  { before, after, cost, alone }: Assignable,
  maxCells = MAX_CELLS,
): { readonly pairs: readonly Pair[]; readonly cells: number } {
  const cells = before * after;
  if (cells === 0 || cells > Math.min(maxCells, MAX_CELLS)) return { pairs: [], cells: 0 };
  // A pair is worth what it saves against two elements that are alone; a pair without a saving is none.
  const savedBy = (left: number, right: number): number =>
    Math.max(0, alone(left, right) - cost(left, right));
  if (Math.max(before, after) > MAX_ASSIGNED) {
    return { pairs: greedy(before, after, savedBy), cells };
  }
  // The search asks for a pair many times.
  const savings = Float64Array.from({ length: cells }, (_, cell) =>
    savedBy(Math.floor(cell / after), cell % after),
  );
  const saved = (left: number, right: number): number => savings[left * after + right] ?? 0;
  const pairs = minimal(before, after, saved).filter(([left, right]) => saved(left, right) > 0);
  return { pairs, cells };
}

function greedy(
  before: number,
  after: number,
  saved: (before: number, after: number) => number,
): Pair[] {
  const open = new Set(Array.from({ length: after }, (_, index) => index));
  const pairs: Pair[] = [];
  for (let left = 0; left < before; left++) {
    let best: number | undefined;
    let most = 0;
    for (const right of open) {
      const value = saved(left, right);
      if (value > most) [best, most] = [right, value];
    }
    if (best === undefined) continue;
    open.delete(best);
    pairs.push([left, best]);
  }
  return pairs;
}

/** Rows and columns count from 1; column 0 stands for the row being placed. */
function minimal(
  before: number,
  after: number,
  saved: (before: number, after: number) => number,
): Pair[] {
  const size = Math.max(before, after);
  const costAt = (row: number, column: number): number =>
    row <= before && column <= after ? -saved(row - 1, column - 1) : 0;
  const rowPotential = new Float64Array(size + 1);
  const columnPotential = new Float64Array(size + 1);
  const rowOf = new Int32Array(size + 1);
  const way = new Int32Array(size + 1);
  for (let row = 1; row <= size; row++) {
    rowOf[0] = row;
    let column = 0;
    const least = new Float64Array(size + 1).fill(Number.POSITIVE_INFINITY);
    const used = new Uint8Array(size + 1);
    do {
      used[column] = 1;
      const current = rowOf[column] ?? 0;
      let delta = Number.POSITIVE_INFINITY;
      let next = 0;
      for (let other = 1; other <= size; other++) {
        if (used[other] === 1) continue;
        const reduced =
          costAt(current, other) - (rowPotential[current] ?? 0) - (columnPotential[other] ?? 0);
        if (reduced < (least[other] ?? 0)) {
          least[other] = reduced;
          way[other] = column;
        }
        if ((least[other] ?? 0) < delta) {
          delta = least[other] ?? 0;
          next = other;
        }
      }
      for (let other = 0; other <= size; other++) {
        if (used[other] === 1) {
          const placed = rowOf[other] ?? 0;
          rowPotential[placed] = (rowPotential[placed] ?? 0) + delta;
          columnPotential[other] = (columnPotential[other] ?? 0) - delta;
        } else least[other] = (least[other] ?? 0) - delta;
      }
      column = next;
    } while (rowOf[column] !== 0);
    while (column !== 0) {
      const previous = way[column] ?? 0;
      rowOf[column] = rowOf[previous] ?? 0;
      column = previous;
    }
  }
  const pairs: Pair[] = [];
  for (let column = 1; column <= after; column++) {
    const row = rowOf[column] ?? 0;
    if (row >= 1 && row <= before) pairs.push([row - 1, column - 1]);
  }
  return pairs.sort(([left], [right]) => left - right);
}
