import { isIdentifierStart } from "./identifier.ts";
import {
  INVALID_CHARACTERS,
  isLoneSurrogate,
  UNSUPPORTED_OPERATORS,
} from "./invalid-characters.ts";
import { identifierEnd, numberEnd, pairKind, SINGLE } from "./lexemes.ts";
import type { ResolvedSyntaxLimits } from "./limits.ts";
import { ENCODING_DETAIL } from "./open-source.ts";
import type { ProblemCollector } from "./problem.ts";
import type { SourceFile } from "./source-file.ts";
import { literalDollarLength } from "./string-literal.ts";
import { TokenBuffer, TokenKind } from "./token.ts";

/** Where scanning begins: in a configuration or expression, or in the text of a template. */
export type ScanMode = "normal" | "template";

/*
 * The scanner is one loop over a stack of modes. Which characters mean what depends on the
 * innermost mode:
 *
 *   expression  the language itself: bodies and expressions
 *   quoted      between quotes: literal text up to `${`, `%{` or the closing quote
 *   heredoc     literal text line by line up to a line that holds only the marker
 *   template    literal text up to the end of the source
 *
 * `${` and `%{` push an expression mode; the `}` that brings its brace count back to zero pops it.
 * The state of a mode is the frame on the stack; nothing else is remembered between tokens.
 */
const Mode = { Expression: 0, Quoted: 1, Heredoc: 2, Template: 3 } as const;
type Mode = (typeof Mode)[keyof typeof Mode];

interface Frame {
  readonly mode: Mode;
  /** Expression: open braces inside of this frame. */
  braces: number;
  /** Quoted: offset of the opening quote. Expression: offset of the `${`. */
  readonly start: number;
  /** Heredoc: the word that ends it. */
  readonly marker: string;
  /** Heredoc: whether the next text begins a line, so that it may be the marker. */
  lineStart: boolean;
}

const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const QUOTE = 34;
const HASH = 35;
const DOLLAR = 36;
const PERCENT = 37;
const STAR = 42;
const MINUS = 45;
const DOT = 46;
const SLASH = 47;
const LESS = 60;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const TILDE = 126;

/** How often one kind of wrong character is reported: repeated ones are one mistake. */
const REPEATS_REPORTED = 4;

/** Tokens of a source. Problems go to the collector; the buffer is complete in any case. */
export function scan(
  source: SourceFile,
  mode: ScanMode,
  problems: ProblemCollector,
  limits: ResolvedSyntaxLimits,
): TokenBuffer {
  return new Scanner(source, problems, limits).run(mode);
}

class Scanner {
  readonly #text: string;
  readonly #tokens: TokenBuffer;
  readonly #problems: ProblemCollector;
  readonly #maxTokens: number;
  readonly #stack: Frame[] = [];
  readonly #reported = new Map<string, number>();
  #at: number;

  constructor(source: SourceFile, problems: ProblemCollector, limits: ResolvedSyntaxLimits) {
    this.#text = source.text;
    this.#tokens = new TokenBuffer(source);
    this.#problems = problems;
    this.#maxTokens = limits.maxTokens;
    this.#at = source.contentStart;
  }

  run(mode: ScanMode): TokenBuffer {
    const length = this.#text.length;
    this.#push(mode === "normal" ? Mode.Expression : Mode.Template, 0);
    while (this.#at < length) {
      if (this.#tokens.length >= this.#maxTokens) {
        this.#problems.error(
          "LANG_LIMIT_TOKENS",
          `A file may have at most ${this.#maxTokens} tokens.`,
          this.#at,
          this.#at,
        );
        this.#at = length;
        break;
      }
      const frame = this.#frame();
      if (frame.mode === Mode.Expression) this.#expressionToken(frame);
      else if (frame.mode === Mode.Quoted) this.#quotedToken(frame);
      else this.#plainToken(frame);
    }
    this.#tokens.push(TokenKind.EndOfFile, length, length);
    return this.#tokens;
  }

  #frame(): Frame {
    return this.#stack[this.#stack.length - 1] as Frame;
  }

  #push(mode: Mode, start: number, marker = ""): void {
    this.#stack.push({ mode, braces: 0, start, marker, lineStart: true });
  }

  #emit(kind: TokenKind, end: number): void {
    this.#tokens.push(kind, this.#at, end);
    this.#at = end;
  }

  // ---- expression mode ----

  #expressionToken(frame: Frame): void {
    const text = this.#text;
    let at = this.#at;
    let char = text.charCodeAt(at);
    while (char === SPACE || char === TAB) char = text.charCodeAt(++at);
    this.#at = at;
    if (at >= text.length) return;

    if (isIdentifierStart(char, text, at)) {
      this.#emit(TokenKind.Identifier, identifierEnd(text, at));
      return;
    }
    if (char >= 48 && char <= 57) {
      this.#emit(TokenKind.Number, numberEnd(text, at));
      return;
    }
    const next = text.charCodeAt(at + 1);
    switch (char) {
      case LF:
        this.#emit(TokenKind.Newline, at + 1);
        return;
      case CR:
        if (next === LF) this.#emit(TokenKind.Newline, at + 2);
        else this.#invalid(at + 1);
        return;
      case HASH:
        this.#emit(TokenKind.Comment, this.#lineEnd(at));
        return;
      case SLASH:
        if (next === SLASH) this.#emit(TokenKind.Comment, this.#lineEnd(at));
        else if (next === STAR) this.#blockComment();
        else this.#emit(TokenKind.Slash, at + 1);
        return;
      case QUOTE:
        this.#push(Mode.Quoted, at);
        this.#emit(TokenKind.QuoteOpen, at + 1);
        return;
      case OPEN_BRACE:
        frame.braces++;
        this.#emit(TokenKind.BraceOpen, at + 1);
        return;
      case CLOSE_BRACE:
        this.#closeBrace(frame, at + 1, false);
        return;
      case TILDE:
        if (next === CLOSE_BRACE) this.#closeBrace(frame, at + 2, true);
        else this.#invalid(at + 1);
        return;
      case LESS:
        if (next === LESS && this.#heredocOpen()) return;
        break;
      case DOT:
        if (next === DOT && text.charCodeAt(at + 2) === DOT) {
          this.#emit(TokenKind.Ellipsis, at + 3);
          return;
        }
        break;
      default:
    }
    const pair = pairKind(char, next);
    if (pair !== undefined) {
      this.#emit(pair, at + 2);
      return;
    }
    const single = SINGLE[char];
    if (single !== undefined) this.#emit(single, at + 1);
    else this.#invalid(at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1));
  }

  #lineEnd(from: number): number {
    const feed = this.#text.indexOf("\n", from);
    if (feed === -1) return this.#text.length;
    return this.#text.charCodeAt(feed - 1) === CR ? feed - 1 : feed;
  }

  #blockComment(): void {
    const close = this.#text.indexOf("*/", this.#at + 2);
    if (close !== -1) {
      this.#emit(TokenKind.Comment, close + 2);
      return;
    }
    this.#problems.error(
      "LANG_COMMENT",
      'This comment is not closed: there is no "*/" before the end of the file.',
      this.#at,
      this.#at + 2,
    );
    this.#emit(TokenKind.Invalid, this.#text.length);
  }

  #closeBrace(frame: Frame, end: number, trimming: boolean): void {
    const endsSequence = this.#stack.length > 1 && frame.braces === 0;
    if (endsSequence) {
      this.#emit(TokenKind.SequenceClose, end);
      this.#stack.pop();
      return;
    }
    // A "~}" that closes an ordinary brace stays what it looks like, for the parser to refuse.
    this.#emit(trimming ? TokenKind.SequenceClose : TokenKind.BraceClose, end);
    if (frame.braces > 0) frame.braces--;
  }

  /** Scans `<<ID` or `<<-ID` up to the end of its line, if that is what stands here. */
  #heredocOpen(): boolean {
    const text = this.#text;
    let at = this.#at + 2;
    if (text.charCodeAt(at) === MINUS) at++;
    if (!isIdentifierStart(text.charCodeAt(at), text, at)) return false;
    const markerStart = at;
    at = identifierEnd(text, at);
    const marker = text.slice(markerStart, at);
    if (text.charCodeAt(at) === CR) at++;
    if (text.charCodeAt(at) !== LF) return false;
    this.#push(Mode.Heredoc, this.#at, marker);
    this.#emit(TokenKind.HeredocOpen, at + 1);
    return true;
  }

  #invalid(end: number): void {
    const text = this.#text.slice(this.#at, end);
    const count = this.#reported.get(text) ?? 0;
    this.#reported.set(text, count + 1);
    if (count < REPEATS_REPORTED) {
      const operator = UNSUPPORTED_OPERATORS[text];
      if (operator !== undefined) {
        this.#problems.error("LANG_OPERATOR", operator, this.#at, end);
      } else if (isLoneSurrogate(text)) {
        this.#problems.error("LANG_ENCODING", ENCODING_DETAIL, this.#at, end);
      } else {
        const detail = INVALID_CHARACTERS[text] ?? "This character is not used in the language.";
        this.#problems.error("LANG_CHARACTER", detail, this.#at, end);
      }
    }
    this.#emit(TokenKind.Invalid, end);
  }

  // ---- quoted mode ----

  #quotedToken(frame: Frame): void {
    const text = this.#text;
    const char = text.charCodeAt(this.#at);
    if (char === QUOTE) {
      this.#emit(TokenKind.QuoteClose, this.#at + 1);
      this.#stack.pop();
      return;
    }
    if (char === LF || char === CR) {
      this.#brokenString(frame);
      return;
    }
    if (this.#sequenceOpen(char)) return;
    let at = this.#at;
    for (; at < text.length; at++) {
      const here = text.charCodeAt(at);
      if (here === QUOTE || here === LF || here === CR) break;
      if (here === BACKSLASH) {
        const escaped = text.charCodeAt(at + 1);
        // A backslash at the end of a line does not hide the line ending.
        if (at + 1 < text.length && escaped !== LF && escaped !== CR) at++;
      } else if (here === DOLLAR || here === PERCENT) {
        const step = literalDollarLength(text, at);
        if (step === 0) break;
        at += step - 1;
      }
    }
    this.#emit(TokenKind.QuotedText, Math.min(at, text.length));
  }

  /**
   * A line ending inside quotes. The usual mistake is a forgotten quote, so the string is taken to
   * end here, together with everything that was opened inside it on the same line; the rest of the
   * file is then read as what it was meant to be.
   */
  #brokenString(frame: Frame): void {
    this.#problems.error(
      "LANG_STRING_NEWLINE",
      'A quoted string must end on the line where it begins: the closing quote is missing. For text of several lines write a heredoc ("<<EOT"), for a line feed in a string write "\\n".',
      frame.start,
      this.#at,
    );
    const lineStart = this.#text.lastIndexOf("\n", this.#at - 1) + 1;
    let outermost = this.#stack.length - 1;
    for (let depth = outermost; depth > 0; depth--) {
      const candidate = this.#stack[depth] as Frame;
      if (candidate.start < lineStart || candidate.mode === Mode.Heredoc) break;
      if (candidate.mode === Mode.Quoted) outermost = depth;
    }
    while (this.#stack.length > outermost) {
      const closed = this.#stack.pop() as Frame;
      const quoted = closed.mode === Mode.Quoted;
      this.#emit(quoted ? TokenKind.QuoteClose : TokenKind.SequenceClose, this.#at);
    }
  }

  // ---- heredoc and bare template mode ----

  #plainToken(frame: Frame): void {
    const text = this.#text;
    if (frame.mode === Mode.Heredoc && frame.lineStart && this.#heredocClose(frame)) return;
    frame.lineStart = false;
    if (this.#sequenceOpen(text.charCodeAt(this.#at))) return;
    let at = this.#at;
    for (; at < text.length; at++) {
      const here = text.charCodeAt(at);
      if (here === LF) {
        at++;
        frame.lineStart = true;
        break;
      }
      if (here === DOLLAR || here === PERCENT) {
        const step = literalDollarLength(text, at);
        if (step === 0) break;
        at += step - 1;
      } else if (here === CR && text.charCodeAt(at + 1) !== LF && frame.mode === Mode.Heredoc) {
        break;
      }
    }
    if (at === this.#at) {
      this.#invalid(at + 1);
      return;
    }
    this.#emit(TokenKind.PlainText, Math.min(at, text.length));
  }

  /** Closes the heredoc if the line that begins here holds only its marker and ends. */
  #heredocClose(frame: Frame): boolean {
    const text = this.#text;
    const feed = text.indexOf("\n", this.#at);
    if (feed === -1) return false;
    if (text.slice(this.#at, feed).trim() !== frame.marker) return false;
    this.#emit(TokenKind.HeredocClose, text.charCodeAt(feed - 1) === CR ? feed - 1 : feed);
    this.#stack.pop();
    return true;
  }

  #sequenceOpen(char: number): boolean {
    if (char !== DOLLAR && char !== PERCENT) return false;
    if (this.#text.charCodeAt(this.#at + 1) !== OPEN_BRACE) return false;
    const end = this.#at + (this.#text.charCodeAt(this.#at + 2) === TILDE ? 3 : 2);
    this.#push(Mode.Expression, this.#at);
    this.#emit(char === DOLLAR ? TokenKind.InterpolationOpen : TokenKind.DirectiveOpen, end);
    return true;
  }
}
