import type { SourceFile } from "./source-file.ts";

/** What a token is. The numbers are not stable: compare by name. */
export const TokenKind = {
  EndOfFile: 0,
  /** A line feed, with the carriage return before it if there is one. */
  Newline: 1,
  /** A comment without the line ending after it. */
  Comment: 2,
  Identifier: 3,
  Number: 4,
  QuoteOpen: 5,
  QuoteClose: 6,
  /** The introducer of a heredoc with its line ending: `<<EOT` or `<<-EOT`. */
  HeredocOpen: 7,
  /** The line that closes a heredoc, without its line ending. */
  HeredocClose: 8,
  /** Literal text inside quotes, with its escapes. */
  QuotedText: 9,
  /** Literal text in a heredoc or a bare template: at most one line. */
  PlainText: 10,
  /** `${` or `${~`. */
  InterpolationOpen: 11,
  /** `%{` or `%{~`. */
  DirectiveOpen: 12,
  /** `}` or `~}` that ends an interpolation or a directive. */
  SequenceClose: 13,
  BraceOpen: 14,
  BraceClose: 15,
  BracketOpen: 16,
  BracketClose: 17,
  ParenOpen: 18,
  ParenClose: 19,
  Dot: 20,
  Comma: 21,
  Ellipsis: 22,
  Colon: 23,
  DoubleColon: 24,
  Question: 25,
  Assign: 26,
  FatArrow: 27,
  Equal: 28,
  NotEqual: 29,
  Less: 30,
  LessEqual: 31,
  Greater: 32,
  GreaterEqual: 33,
  And: 34,
  Or: 35,
  Not: 36,
  Plus: 37,
  Minus: 38,
  Star: 39,
  Slash: 40,
  Percent: 41,
  /** Anything that is not part of the language. The scanner has reported it already. */
  Invalid: 42,
} as const;

export type TokenKind = (typeof TokenKind)[keyof typeof TokenKind];

/**
 * The tokens of one source in order, comments included, white space left out. Held as columns of
 * numbers: a token costs nine bytes and no object.
 *
 * Together with `source.text` this is lossless: what stands between two tokens is only spaces and
 * tabs. The last token is always {@link TokenKind.EndOfFile}.
 */
export class TokenBuffer {
  readonly source: SourceFile;
  #kinds: Uint8Array;
  #starts: Int32Array;
  #ends: Int32Array;
  #length = 0;

  constructor(source: SourceFile) {
    this.source = source;
    const capacity = 64 + (source.text.length >> 2);
    this.#kinds = new Uint8Array(capacity);
    this.#starts = new Int32Array(capacity);
    this.#ends = new Int32Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** {@link TokenKind} of the token at an index; that of the end behind the last. */
  kind(index: number): number {
    return index < this.#length ? (this.#kinds[index] ?? 0) : TokenKind.EndOfFile;
  }

  /** Start offset of the token at an index. */
  start(index: number): number {
    return this.#starts[index] ?? 0;
  }

  /** End offset (exclusive) of the token at an index. */
  end(index: number): number {
    return this.#ends[index] ?? 0;
  }

  /** Source text of the token at an index. */
  text(index: number): string {
    return this.source.text.slice(this.start(index), this.end(index));
  }

  push(kind: TokenKind, start: number, end: number): void {
    const at = this.#length;
    if (at === this.#kinds.length) this.#grow();
    this.#kinds[at] = kind;
    this.#starts[at] = start;
    this.#ends[at] = end;
    this.#length = at + 1;
  }

  #grow(): void {
    const capacity = this.#kinds.length * 2;
    const kinds = new Uint8Array(capacity);
    const starts = new Int32Array(capacity);
    const ends = new Int32Array(capacity);
    kinds.set(this.#kinds);
    starts.set(this.#starts);
    ends.set(this.#ends);
    this.#kinds = kinds;
    this.#starts = starts;
    this.#ends = ends;
  }
}
