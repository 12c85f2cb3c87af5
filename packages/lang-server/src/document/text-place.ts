import { type SyntaxFile, TokenKind } from "@stackwright/lang";

/** What kind of text an offset is in. */
type TextPlace = "code" | "text" | "comment";

const TEXT: ReadonlySet<number> = new Set([
  TokenKind.QuotedText,
  TokenKind.PlainText,
  TokenKind.HeredocOpen,
  TokenKind.HeredocClose,
]);

/** Whether an offset is in code, in literal text, or in a comment. Between two tokens is code. */
export function textPlace({ tokens, source }: SyntaxFile, offset: number): TextPlace {
  let low = 0;
  let high = tokens.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tokens.end(middle) < offset) low = middle + 1;
    else high = middle;
  }
  // The token that ends at the offset, or that holds it.
  const kind = tokens.kind(low);
  const start = tokens.start(low);
  if (start >= offset) return "code";
  if (kind === TokenKind.Comment) return "comment";
  if (kind === TokenKind.QuoteOpen) return "text";
  if (TEXT.has(kind)) return "text";
  if (kind === TokenKind.Invalid) return source.text[start] === '"' ? "text" : "code";
  return "code";
}
