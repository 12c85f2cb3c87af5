import { isIdentifierContinue } from "./identifier.ts";
import { TokenKind } from "./token.ts";

const PLUS = 43;
const MINUS = 45;
const DOT = 46;
const LESS = 60;

/** Where the identifier ends that begins at `start`. */
export function identifierEnd(text: string, start: number): number {
  let at = start + ((text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1);
  for (;;) {
    const step = isIdentifierContinue(text.charCodeAt(at), text, at);
    if (step === 0) return at;
    at += step;
  }
}

/** Where a number ends: digits, dots and exponents as far as they go, but never ending with a dot. */
export function numberEnd(text: string, start: number): number {
  let at = start;
  let end = start + 1;
  for (;;) {
    const char = text.charCodeAt(++at);
    if (char >= 48 && char <= 57) {
      end = at + 1;
    } else if (char === 101 || char === 69) {
      const sign = text.charCodeAt(at + 1);
      const digit = sign === PLUS || sign === MINUS ? at + 2 : at + 1;
      const first = text.charCodeAt(digit);
      if (!(first >= 48 && first <= 57)) return end;
      at = digit;
      end = digit + 1;
    } else if (char !== DOT) {
      return end;
    }
  }
}

/** The kind of a token of two characters, by their codes. */
export function pairKind(char: number, next: number): TokenKind | undefined {
  switch (char) {
    case 33:
      return next === 61 ? TokenKind.NotEqual : undefined;
    case 38:
      return next === 38 ? TokenKind.And : undefined;
    case 124:
      return next === 124 ? TokenKind.Or : undefined;
    case 58:
      return next === 58 ? TokenKind.DoubleColon : undefined;
    case LESS:
      return next === 61 ? TokenKind.LessEqual : undefined;
    case 62:
      return next === 61 ? TokenKind.GreaterEqual : undefined;
    case 61:
      if (next === 61) return TokenKind.Equal;
      return next === 62 ? TokenKind.FatArrow : undefined;
    default:
      return undefined;
  }
}

/** Kinds of the tokens that are one ASCII character, by its code. */
export const SINGLE: readonly (TokenKind | undefined)[] = (() => {
  const table: (TokenKind | undefined)[] = Array.from({ length: 128 });
  const kinds: Record<string, TokenKind> = {
    "[": TokenKind.BracketOpen,
    "]": TokenKind.BracketClose,
    "(": TokenKind.ParenOpen,
    ")": TokenKind.ParenClose,
    ".": TokenKind.Dot,
    ",": TokenKind.Comma,
    ":": TokenKind.Colon,
    "?": TokenKind.Question,
    "=": TokenKind.Assign,
    "<": TokenKind.Less,
    ">": TokenKind.Greater,
    "!": TokenKind.Not,
    "+": TokenKind.Plus,
    "-": TokenKind.Minus,
    "*": TokenKind.Star,
    "%": TokenKind.Percent,
  };
  for (const [char, kind] of Object.entries(kinds)) table[char.charCodeAt(0)] = kind;
  return table;
})();
