import type { Span } from "../index/symbol.ts";
import type { SpanEdit } from "./formatted-edits.ts";

/** The edit that adds a block behind the lines of another, with an empty line around it. */
export function behind(text: string, { end }: Span, block: string): SpanEdit {
  const newline = text[end - 1] === "\n" ? "" : "\n";
  const gap = /^(?:[ \t]*\r?\n|[ \t]*$)/.test(text.slice(end)) ? "" : "\n";
  return { start: end, end, newText: `${newline}\n${block}${gap}` };
}
