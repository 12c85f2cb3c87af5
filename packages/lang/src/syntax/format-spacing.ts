import { bracketBalance, type FormatToken } from "./format-token.ts";
import { TokenKind } from "./token.ts";

const SEQUENCE_OPENERS: ReadonlySet<number> = new Set([
  TokenKind.InterpolationOpen,
  TokenKind.DirectiveOpen,
]);

/** Behind these a minus sign is a sign and not a subtraction. */
const BEFORE_SIGN: ReadonlySet<number> = new Set([
  TokenKind.ParenOpen,
  TokenKind.BraceOpen,
  TokenKind.BracketOpen,
  TokenKind.Assign,
  TokenKind.Colon,
  TokenKind.Comma,
  TokenKind.Question,
  TokenKind.Plus,
  TokenKind.Star,
  TokenKind.Slash,
  TokenKind.Percent,
  TokenKind.Minus,
  TokenKind.Equal,
  TokenKind.NotEqual,
  TokenKind.Greater,
  TokenKind.GreaterEqual,
  TokenKind.Less,
  TokenKind.LessEqual,
  TokenKind.And,
  TokenKind.Or,
  TokenKind.Not,
]);

const TEXT_LEFT: ReadonlySet<number> = new Set([
  TokenKind.QuotedText,
  TokenKind.PlainText,
  TokenKind.QuoteOpen,
  TokenKind.HeredocOpen,
]);

const TEXT_RIGHT: ReadonlySet<number> = new Set([
  TokenKind.QuotedText,
  TokenKind.PlainText,
  TokenKind.QuoteClose,
  TokenKind.HeredocClose,
]);

/**
 * Whether a space stands between two neighbours of one line. `before` is the token in front of
 * `left`, if `left` does not begin its cell. The rules are tried in order; the first that
 * applies decides. They use tokens only, so that any text that parses has a layout.
 */
export function spaceBetween(
  before: FormatToken | undefined,
  left: FormatToken,
  right: FormatToken,
): boolean {
  const l = left.kind;
  const r = right.kind;
  if (r === TokenKind.Newline) return false;
  if (l === TokenKind.Identifier && (r === TokenKind.ParenOpen || r === TokenKind.DoubleColon)) {
    return false;
  }
  if (l === TokenKind.DoubleColon && r === TokenKind.Identifier) return false;
  if (l === TokenKind.Dot || r === TokenKind.Dot) return false;
  if (r === TokenKind.Comma || r === TokenKind.Ellipsis) return false;
  if (l === TokenKind.Comma) return true;
  if (TEXT_LEFT.has(l) || TEXT_RIGHT.has(r)) return false;
  // The word `in` of a loop, so that a tuple after it does not look like its index.
  if (left.text === "in" && before?.kind === TokenKind.Identifier) return true;
  if (r === TokenKind.BracketOpen) {
    const indexes =
      l === TokenKind.Identifier || l === TokenKind.Number || bracketBalance(left) < 0;
    if (indexes) return false;
  }
  if (l === TokenKind.Not) return false;
  if (l === TokenKind.Minus) return before !== undefined && !BEFORE_SIGN.has(before.kind);
  if (l === TokenKind.BraceOpen || r === TokenKind.BraceClose) {
    return !(l === TokenKind.BraceOpen && r === TokenKind.BraceClose);
  }
  if (SEQUENCE_OPENERS.has(l) && r === TokenKind.BraceOpen) return true;
  if (l === TokenKind.BraceClose && r === TokenKind.SequenceClose) return true;
  if (l === TokenKind.SequenceClose && SEQUENCE_OPENERS.has(r)) return false;
  return bracketBalance(left) <= 0 && bracketBalance(right) >= 0;
}
