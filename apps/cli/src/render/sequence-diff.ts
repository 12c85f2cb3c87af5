/** One step from one sequence to another. */
export type SequenceStep<Item> =
  | { readonly kind: "keep"; readonly before: Item; readonly after: Item; readonly index: number }
  | { readonly kind: "remove"; readonly before: Item; readonly index: number }
  | { readonly kind: "insert"; readonly after: Item; readonly index: number };

/** Cells of the table up to which the shortest difference is computed. */
const MAX_CELLS = 1_000_000;

/**
 * The steps that lead from `before` to `after`, with as many items kept as possible. What both begin
 * or end with is kept without looking further; where the rest is too large for a table, it is shown as
 * removed and inserted. `index` counts in `before` for removed items, else in `after`.
 */
export function sequenceSteps<Item>(
  before: readonly Item[],
  after: readonly Item[],
  equal: (left: Item, right: Item) => boolean,
): SequenceStep<Item>[] {
  let start = 0;
  const shorter = Math.min(before.length, after.length);
  while (start < shorter && equal(before[start] as Item, after[start] as Item)) start++;
  let tail = 0;
  while (
    tail < shorter - start &&
    equal(before[before.length - 1 - tail] as Item, after[after.length - 1 - tail] as Item)
  ) {
    tail++;
  }
  const keep = (left: number, right: number): SequenceStep<Item> => ({
    kind: "keep",
    before: before[left] as Item,
    after: after[right] as Item,
    index: right,
  });
  const steps: SequenceStep<Item>[] = [];
  for (let index = 0; index < start; index++) steps.push(keep(index, index));
  const ends = { left: before.length - tail, right: after.length - tail };
  let left = start;
  let right = start;
  for (const [keptLeft, keptRight] of longestCommon(before, after, start, ends, equal)) {
    while (left < keptLeft) steps.push(remove(before, left++));
    while (right < keptRight) steps.push(insert(after, right++));
    steps.push(keep(left++, right++));
  }
  while (left < ends.left) steps.push(remove(before, left++));
  while (right < ends.right) steps.push(insert(after, right++));
  for (; left < before.length; left++, right++) steps.push(keep(left, right));
  return steps;
}

function remove<Item>(before: readonly Item[], index: number): SequenceStep<Item> {
  return { kind: "remove", before: before[index] as Item, index };
}

function insert<Item>(after: readonly Item[], index: number): SequenceStep<Item> {
  return { kind: "insert", after: after[index] as Item, index };
}

/** Pairs of positions of a longest common subsequence between `start` and the ends. */
function longestCommon<Item>(
  before: readonly Item[],
  after: readonly Item[],
  start: number,
  ends: { readonly left: number; readonly right: number },
  equal: (left: Item, right: Item) => boolean,
): (readonly [left: number, right: number])[] {
  const rows = ends.left - start;
  const columns = ends.right - start;
  if (rows === 0 || columns === 0 || rows * columns > MAX_CELLS) return [];
  const width = columns + 1;
  // lengths[r][c]: longest common subsequence of what begins at row r and column c.
  const lengths = new Uint32Array((rows + 1) * width);
  const same = new Uint8Array(rows * columns);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      const alike = equal(before[start + row] as Item, after[start + column] as Item);
      if (alike) same[row * columns + column] = 1;
      lengths[row * width + column] = alike
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const pairs: (readonly [number, number])[] = [];
  let row = 0;
  let column = 0;
  while (row < rows && column < columns) {
    if (same[row * columns + column] === 1) pairs.push([start + row++, start + column++]);
    else if (at(row + 1, column) >= at(row, column + 1)) row++;
    else column++;
  }
  return pairs;
}
