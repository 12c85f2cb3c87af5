import { graphemeCount, graphemePrefixLength } from "./grapheme.ts";
import type { TemplatePart, TemplateTextPart } from "./template-tree.ts";

// The characters with the Unicode property White_Space, which strip markers and flush heredocs
// remove. JavaScript's own trimming also takes U+FEFF and leaves U+0085.
const LEADING = /^[\t-\r\x85\p{Z}]+/u;
// Looks behind, so that a run that is not at the end is tried once and not from each of its characters.
const TRAILING = /(?<![\t-\r\x85\p{Z}])[\t-\r\x85\p{Z}]+$/u;

/** A text without the white space at its beginning. */
export function trimSpaceLeft(text: string): string {
  return text.replace(LEADING, "");
}

/** A text without the white space at its end. */
export function trimSpaceRight(text: string): string {
  return text.replace(TRAILING, "");
}

/**
 * Removes the indentation of a flush heredoc, in place: as many grapheme clusters of white space
 * from the beginning of each line as the least indented line has.
 *
 * It is a rule about *parts*, after strip markers have done their work, and not about lines of the
 * source: a part begins a line when the text part before it ended with a line feed. A line that
 * begins with a sequence has no indentation; lines of white space only do not count. A part that a
 * strip marker robbed of its line feed makes the next one a continuation, whose white space stays.
 */
export function removeIndentation(parts: readonly TemplatePart[]): void {
  let least = Number.POSITIVE_INFINITY;
  let lineStart = true;
  const indented: TemplateTextPart[] = [];
  for (const part of parts) {
    const beginsLine: boolean = lineStart;
    lineStart = part.type === "text" && part.value.endsWith("\n");
    if (!beginsLine) continue;
    if (part.type !== "text") {
      least = 0;
      continue;
    }
    const space = LEADING.exec(part.value)?.[0] ?? "";
    if (space.length === part.value.length && part.value.endsWith("\n")) continue;
    indented.push(part);
    least = Math.min(least, graphemeCount(space));
  }
  for (const part of indented) {
    part.value = part.value.slice(graphemePrefixLength(part.value, least));
  }
}
