import { formatFile, type SyntaxFile } from "@stackwright/lang";
import type { TextEdit } from "vscode-languageserver-protocol";
import { Lines } from "../document/locate.ts";
import type { Span } from "../index/symbol.ts";

/** Another text for a stretch of a file. */
export interface SpanEdit extends Span {
  readonly newText: string;
}

/**
 * The edits with all that they touch in canonical form: the outermost blocks and arguments around them, and what stands together with
 * those. Undefined where the result would not be understood.
 */
export function formattedEdits(
  { source, body }: SyntaxFile,
  edits: readonly SpanEdit[],
): TextEdit[] | undefined {
  const { text } = source;
  const lines = new Lines(text);
  const result: TextEdit[] = [];
  for (const region of regions(text, body.items, edits)) {
    const within = edits.filter(({ start, end }) => start >= region.start && end <= region.end);
    const { text: formatted } = formatFile({ name: "", text: edited(text, region, within) });
    if (formatted === undefined) return undefined;
    const before = text.slice(region.start, region.end);
    if (formatted === before) continue;
    // Only what differs is replaced, by whole lines.
    const [head, tail] = equalEnds(before, formatted);
    result.push({
      range: lines.range({ start: region.start + head, end: region.end - tail }),
      newText: formatted.slice(head, formatted.length - tail),
    });
  }
  return result;
}

/** The text of a region with edits in it done. */
function edited(text: string, region: Span, edits: readonly SpanEdit[]): string {
  let result = "";
  let at = region.start;
  for (const { start, end, newText } of edits.toSorted((a, b) => a.start - b.start)) {
    result += text.slice(at, start) + newText;
    at = end;
  }
  return result + text.slice(at, region.end);
}

function regions(text: string, items: readonly Span[], edits: readonly Span[]): Span[] {
  const found: { start: number; end: number }[] = [];
  const wholeLines = ({ start, end }: Span) => {
    const isLine = end > start && text[end - 1] === "\n";
    const newline = isLine ? end - 1 : text.indexOf("\n", end);
    const close = newline === -1 ? text.length : newline + 1;
    return { start: text.lastIndexOf("\n", start - 1) + 1, end: close };
  };
  for (const edit of edits) {
    const span = { ...wholeLines(edit) };
    // What stands together is aligned together.
    for (let grown = true; grown; ) {
      grown = false;
      for (const item of items) {
        const { start, end } = wholeLines(item);
        const touches = start <= span.end && end >= span.start;
        if (!touches || (start >= span.start && end <= span.end)) continue;
        span.start = Math.min(span.start, start);
        span.end = Math.max(span.end, end);
        grown = true;
      }
    }
    found.push(span);
  }
  const merged: { start: number; end: number }[] = [];
  for (const span of found.toSorted((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last !== undefined && span.start <= last.end) last.end = Math.max(last.end, span.end);
    else merged.push(span);
  }
  return merged;
}

/** How much of two texts is equal, in whole lines, at their beginnings and at their ends. */
function equalEnds(before: string, after: string): readonly [head: number, tail: number] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  for (let at = 0; at < shorter && before[at] === after[at]; at += 1) {
    if (before[at] === "\n") head = at + 1;
  }
  let tail = 0;
  for (let at = 1; at <= shorter - head && before.at(-at) === after.at(-at); at += 1) {
    if (before.at(-at - 1) === "\n") tail = at;
  }
  return [head, tail];
}
