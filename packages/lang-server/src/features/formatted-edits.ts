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
    const { text: formatted } = formatFile({ name: "", text: edited(text, region) });
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
function edited(text: string, region: Region): string {
  let result = "";
  let at = region.start;
  for (const { start, end, newText } of region.edits) {
    result += text.slice(at, start) + newText;
    at = end;
  }
  return result + text.slice(at, region.end);
}

/** A stretch of lines, with the edits in it in their order. */
interface Region extends Span {
  readonly edits: readonly SpanEdit[];
}

/** Edits in order, those together whose lines, or the blocks and arguments on those, touch. */
function regions(text: string, items: readonly Span[], edits: readonly SpanEdit[]): Region[] {
  const groups = touching(items.map((item) => wholeLines(text, item)));
  const found: { start: number; end: number; edits: SpanEdit[] }[] = [];
  let group = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    const span = { ...wholeLines(text, edit) };
    while ((groups[group]?.end ?? span.start) < span.start) group += 1;
    // What stands together is aligned together.
    for (let at = group; ; at += 1) {
      const next = groups[at];
      if (next === undefined || next.start > span.end) break;
      span.start = Math.min(span.start, next.start);
      span.end = Math.max(span.end, next.end);
    }
    const last = found.at(-1);
    if (last === undefined || span.start > last.end) {
      found.push({ ...span, edits: [edit] });
    } else {
      last.end = Math.max(last.end, span.end);
      last.edits.push(edit);
    }
  }
  return found;
}

function wholeLines(text: string, { start, end }: Span): Span {
  const isLine = end > start && text[end - 1] === "\n";
  const newline = isLine ? end - 1 : text.indexOf("\n", end);
  const close = newline === -1 ? text.length : newline + 1;
  return { start: text.lastIndexOf("\n", start - 1) + 1, end: close };
}

/** Spans in order, those that touch as one. */
function touching(spans: readonly Span[]): Span[] {
  const merged: { start: number; end: number }[] = [];
  for (const { start, end } of spans) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
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
