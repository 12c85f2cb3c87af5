import type { SyntaxFile } from "@stackwright/lang";

/** The first token that begins at an offset or behind it. */
export function tokenAt(tokens: SyntaxFile["tokens"], offset: number): number {
  let low = 0;
  let high = tokens.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tokens.start(middle) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
