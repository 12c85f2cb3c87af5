import type { TextHunk, TextLine } from "../model/diff.ts";

/** Lines of both texts up to which they are compared; longer ones are shown by their size. */
const MAX_LINES = 20_000;
/** Differences up to which the shortest script is searched for. */
const MAX_EDITS = 2_000;
/** Characters of the shown lines of one text. */
const MAX_CHARACTERS = 64 * 1024;
/** Unchanged lines shown around a change. */
const CONTEXT = 3;

/**
 * The changed lines of a text with what surrounds them; undefined for texts that are too long or differ too much to be
 * compared line by line (the shortest edit script of Myers, bounded), and where there is more to show than of any text.
 */
export function textHunks(before: string, after: string): readonly TextHunk[] | undefined {
  const [was, is] = [linesOf(before), linesOf(after)];
  const lines = script(was, is);
  if (lines === undefined) return undefined;
  const hunks = hunksOf(lines);
  let characters = 0;
  for (const hunk of hunks) for (const { text } of hunk.lines) characters += text.length;
  return characters > MAX_CHARACTERS ? undefined : hunks;
}

/** The lines of a text; a line feed at the end begins no further one. */
function linesOf(text: string): string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/**
 * All lines of two texts with what leads from the one to the other. Texts that are too long or differ too much to be compared are
 * all removed and all added.
 */
export function diffLines(was: readonly string[], is: readonly string[]): readonly TextLine[] {
  return (
    script(was, is) ?? [
      ...was.map((text): TextLine => ({ sign: "-", text })),
      ...is.map((text): TextLine => ({ sign: "+", text })),
    ]
  );
}

function script(was: readonly string[], is: readonly string[]): TextLine[] | undefined {
  if (was.length + is.length > MAX_LINES) return undefined;
  let start = 0;
  const shorter = Math.min(was.length, is.length);
  while (start < shorter && was[start] === is[start]) start++;
  let tail = 0;
  while (tail < shorter - start && was.at(-1 - tail) === is.at(-1 - tail)) tail++;
  const middle = shortest(was.slice(start, was.length - tail), is.slice(start, is.length - tail));
  if (middle === undefined) return undefined;
  const same = (text: string): TextLine => ({ sign: " ", text });
  return [
    ...was.slice(0, start).map(same),
    ...middle,
    ...was.slice(was.length - tail, was.length).map(same),
  ];
}

/** The furthest row on each diagonal (row - column) with a number of edits: every second diagonal from -edits to edits. */
class Reached {
  readonly #edits: number;
  readonly #rows: Int32Array;

  constructor(edits: number) {
    this.#edits = edits;
    this.#rows = new Int32Array(edits + 1);
  }

  /** -1 on a diagonal that so many edits do not reach. */
  at(diagonal: number): number {
    return this.#rows[(diagonal + this.#edits) >> 1] ?? -1;
  }

  set(diagonal: number, row: number): void {
    this.#rows[(diagonal + this.#edits) >> 1] = row;
  }
}

/**
 * Invariant: `reached[d].at(k)` is the furthest row on diagonal `k` with `d` edits; the script is read backwards from the first
 * `d` that reaches both ends.
 */
function shortest(was: readonly string[], is: readonly string[]): TextLine[] | undefined {
  const [rows, columns] = [was.length, is.length];
  const limit = Math.min(rows + columns, MAX_EDITS);
  const reached: Reached[] = [];
  for (let edits = 0; edits <= limit; edits++) {
    const now = new Reached(edits);
    const furthest = reached[edits - 1];
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const down = furthest?.at(diagonal + 1) ?? 0;
      const right = furthest?.at(diagonal - 1) ?? -1;
      // An insertion keeps the row, a removal goes to the next one.
      const insert = diagonal === -edits || (diagonal !== edits && right < down);
      let row = insert ? down : right + 1;
      let column = row - diagonal;
      while (row < rows && column < columns && was[row] === is[column]) {
        row++;
        column++;
      }
      now.set(diagonal, row);
      if (row >= rows && column >= columns) {
        reached.push(now);
        return backwards(was, is, reached);
      }
    }
    reached.push(now);
  }
  return undefined;
}

function backwards(
  was: readonly string[],
  is: readonly string[],
  reached: readonly Reached[],
): TextLine[] {
  const lines: TextLine[] = [];
  let [row, column] = [was.length, is.length];
  for (let edits = reached.length - 1; edits > 0; edits--) {
    const before = reached[edits - 1];
    const diagonal = row - column;
    const down = before?.at(diagonal + 1) ?? -1;
    const right = before?.at(diagonal - 1) ?? -1;
    const insert = diagonal === -edits || (diagonal !== edits && right < down);
    const fromRow = insert ? down : right;
    const fromColumn = fromRow - (insert ? diagonal + 1 : diagonal - 1);
    const [toRow, toColumn] = insert ? [fromRow, fromColumn + 1] : [fromRow + 1, fromColumn];
    while (row > toRow && column > toColumn) {
      lines.push({ sign: " ", text: was[--row] ?? "" });
      column--;
    }
    lines.push(
      insert ? { sign: "+", text: is[--column] ?? "" } : { sign: "-", text: was[--row] ?? "" },
    );
  }
  while (row > 0) lines.push({ sign: " ", text: was[--row] ?? "" });
  return lines.reverse();
}

function hunksOf(lines: readonly TextLine[]): TextHunk[] {
  const near = new Uint8Array(lines.length);
  for (const [index, { sign }] of lines.entries()) {
    if (sign === " ") continue;
    near.fill(1, Math.max(0, index - CONTEXT), Math.min(lines.length, index + CONTEXT + 1));
  }
  const hunks: { skipped: number; lines: TextLine[] }[] = [];
  let skipped = 0;
  let open = false;
  for (const [index, line] of lines.entries()) {
    if (near[index] === 0) {
      skipped++;
      open = false;
      continue;
    }
    if (!open) hunks.push({ skipped, lines: [] });
    [open, skipped] = [true, 0];
    hunks.at(-1)?.lines.push(line);
  }
  if (skipped > 0) hunks.push({ skipped, lines: [] });
  return hunks;
}
