import { type SyntaxFile, TokenKind } from "@stackwright/lang";
import type { Span } from "../index/symbol.ts";
import { tokenAt } from "./token-at.ts";

/**
 * The lines of a block or an argument with what is said about it: the comments right above it, and one behind it on its last line.
 * Undefined where other things stand on its lines.
 */
export function itemLines({ tokens, source }: SyntaxFile, item: Span): Span | undefined {
  const { text } = source;
  const first = tokenAt(tokens, item.start);
  let begin = text.lastIndexOf("\n", item.start - 1) + 1;
  if (/\S/.test(text.slice(begin, item.start))) return undefined;
  for (let at = first - 1; at >= 0; at -= 1) {
    if (tokens.kind(at) === TokenKind.Newline) {
      // An empty line ends what is said about it.
      const lineStart = text.lastIndexOf("\n", tokens.end(at) - 2) + 1;
      if (!/\S/.test(text.slice(lineStart, tokens.end(at)))) break;
      continue;
    }
    if (tokens.kind(at) !== TokenKind.Comment) break;
    const start = tokens.start(at);
    const lineStart = text.lastIndexOf("\n", start - 1) + 1;
    // One behind something else is about that.
    if (/\S/.test(text.slice(lineStart, start))) break;
    begin = lineStart;
  }
  let end = item.end;
  for (let at = tokenAt(tokens, item.end); ; at += 1) {
    const kind = tokens.kind(at);
    if (kind === TokenKind.EndOfFile) return { start: begin, end: text.length };
    end = tokens.end(at);
    if (kind === TokenKind.Newline) return { start: begin, end };
    if (kind !== TokenKind.Comment) return undefined;
  }
}
