import { graphemeCount } from "./grapheme.ts";
import { type TokenBuffer, TokenKind } from "./token.ts";

/** A token while it is laid out: what it is, its text, and how many spaces go in front of it. */
export interface FormatToken {
  /** A {@link TokenKind}. */
  readonly kind: number;
  readonly text: string;
  /** Offset in the source; -1 for tokens that the formatter put in. */
  readonly start: number;
  spaces: number;
}

export function formatToken(kind: TokenKind, text: string): FormatToken {
  return { kind, text, start: -1, spaces: 0 };
}

/** The tokens of a source. A line comment takes the line ending after it into its text. */
export function formatTokens(tokens: TokenBuffer): FormatToken[] {
  const list: FormatToken[] = [];
  let previousEnd = tokens.source.contentStart;
  for (let index = 0; index < tokens.length; index++) {
    const kind = tokens.kind(index);
    const start = tokens.start(index);
    let text = tokens.text(index);
    let end = tokens.end(index);
    if (kind === TokenKind.Comment && !text.startsWith("/*")) {
      if (tokens.kind(index + 1) === TokenKind.Newline) {
        index++;
        text += tokens.text(index);
        end = tokens.end(index);
      }
    }
    list.push({ kind, text, start, spaces: start - previousEnd });
    previousEnd = end;
  }
  return list;
}

/** Whether a line of the layout ends behind the token. Text of heredocs does not end lines. */
export function endsLine(token: FormatToken): boolean {
  if (token.kind === TokenKind.Newline) return true;
  return token.kind === TokenKind.Comment && token.text.endsWith("\n");
}

/** +1 for an opening bracket of any kind, -1 for a closing one. Quotes are no brackets here. */
export function bracketBalance(token: FormatToken): number {
  switch (token.kind) {
    case TokenKind.BraceOpen:
    case TokenKind.BracketOpen:
    case TokenKind.ParenOpen:
    case TokenKind.InterpolationOpen:
    case TokenKind.DirectiveOpen:
      return 1;
    case TokenKind.BraceClose:
    case TokenKind.BracketClose:
    case TokenKind.ParenClose:
    case TokenKind.SequenceClose:
      return -1;
    default:
      return 0;
  }
}

/** Width of tokens in a line, with the spaces in front of them. */
export function columns(tokens: readonly FormatToken[]): number {
  return tokens.reduce((sum, token) => sum + token.spaces + graphemeCount(token.text), 0);
}
