import type { Expression, Invalid } from "./ast.ts";
import type { ResolvedSyntaxLimits } from "./limits.ts";
import type { ProblemCollector, ProblemExtra, SyntaxProblemCode } from "./problem.ts";
import type { SourceFile } from "./source-file.ts";
import { type TokenBuffer, TokenKind } from "./token.ts";
import { tokenHint } from "./token-hint.ts";

/** The productions that call each other in a circle, so that each may live in a file of its own. */
export interface Grammar {
  readonly expression: (cursor: Cursor) => Expression;
  readonly template: (cursor: Cursor, end: TokenKind, flush: boolean, start: number) => Expression;
}

/**
 * A place in the tokens of one source, with everything a parsing function needs.
 *
 * Line endings count or do not count depending on the brackets around: `newlines` says which, and
 * the code that opens a bracket sets and restores it. Comments never count.
 *
 * After an error the cursor is `panicking`: nothing more is reported until recovery has found a
 * position from which the rest can be read again. So one error gives one message, and the next
 * independent mistake gives the next.
 */
export class Cursor {
  readonly source: SourceFile;
  readonly tokens: TokenBuffer;
  readonly problems: ProblemCollector;
  readonly limits: ResolvedSyntaxLimits;
  readonly grammar: Grammar;
  /** {@link TokenKind} of the current token. */
  kind: number = TokenKind.EndOfFile;
  /** Index of the current token. */
  index = 0;
  panicking = false;
  /** Column of the body item being read, for telling its lines from those of the next item. */
  itemColumn = 0;
  /** Index behind the last token taken: where looking for the current one began. */
  #after = 0;
  #newlines = true;
  #depth = 0;
  #height = 0;

  constructor(
    tokens: TokenBuffer,
    problems: ProblemCollector,
    limits: ResolvedSyntaxLimits,
    grammar: Grammar,
  ) {
    this.source = tokens.source;
    this.tokens = tokens;
    this.problems = problems;
    this.limits = limits;
    this.grammar = grammar;
    this.#sync();
  }

  get start(): number {
    return this.tokens.start(this.index);
  }

  get end(): number {
    return this.tokens.end(this.index);
  }

  /** End offset of the last token taken. */
  get previousEnd(): number {
    return this.#after === 0 ? this.start : this.tokens.end(this.#after - 1);
  }

  text(): string {
    return this.tokens.text(this.index);
  }

  /** Whether the current token is of this kind. */
  at(kind: TokenKind): boolean {
    return this.kind === kind;
  }

  /** Moves behind the current token. The end of the file is never passed. */
  next(): void {
    if (this.kind === TokenKind.EndOfFile) return;
    this.#after = this.index + 1;
    this.#sync();
  }

  /** {@link TokenKind} of the token after the current one. */
  peek(): number {
    let index = this.index;
    for (;;) {
      const kind = this.tokens.kind(++index);
      if (kind === TokenKind.Comment) continue;
      if (kind === TokenKind.Newline && !this.#newlines) continue;
      return kind;
    }
  }

  /** Whether the current token is this word. */
  isWord(word: string): boolean {
    return (
      this.kind === TokenKind.Identifier &&
      this.end - this.start === word.length &&
      this.source.text.startsWith(word, this.start)
    );
  }

  /** Sets whether line endings count, from the current place on. Returns what it was. */
  setNewlines(count: boolean): boolean {
    const before = this.#newlines;
    if (before !== count) {
      this.#newlines = count;
      this.#sync();
    }
    return before;
  }

  #sync(): void {
    let index = this.#after;
    for (;;) {
      const kind = this.tokens.kind(index);
      if (kind === TokenKind.Comment || (kind === TokenKind.Newline && !this.#newlines)) {
        index++;
        continue;
      }
      this.kind = kind;
      this.index = Math.min(index, this.tokens.length - 1);
      return;
    }
  }

  /** Reports a problem, unless it follows from one that has been reported. Starts panicking. */
  error(
    code: SyntaxProblemCode,
    detail: string,
    start: number = this.start,
    end: number = this.end,
    extra?: ProblemExtra,
  ): void {
    const reported =
      this.kind === TokenKind.Invalid ||
      this.#isImplied(this.index) ||
      this.#isImplied(this.index + 1);
    if (!this.panicking && !reported) {
      const hint = this.kind === TokenKind.Colon ? tokenHint(this.source.text, this.start) : "";
      this.problems.error(code, detail + hint, start, end, extra);
    }
    this.panicking = true;
  }

  /** Whether the scanner made up this token after it had reported that it is missing. */
  #isImplied(index: number): boolean {
    const { tokens } = this;
    return tokens.kind(index) !== TokenKind.EndOfFile && tokens.start(index) === tokens.end(index);
  }

  /** A node for what was not understood, from an offset to the last token taken. */
  invalid(start: number, end: number = Math.max(start, this.previousEnd)): Invalid {
    return { kind: "invalid", source: this.source, start, end };
  }

  /**
   * Begins an expression or a block one level deeper; to be ended with `leave` and the number that
   * this returns. Undefined where the limit is reached: it has been reported, nothing was begun.
   *
   * `#height` is the height of the tallest tree completed in the current level. It is what bounds
   * the stack of everything that walks the tree: a chain of operators leans to the left and is deep
   * without ever being nested in the text.
   */
  enter(): number | undefined {
    if (this.#depth >= this.limits.maxDepth) {
      this.abandonTooDeep(this.start);
      return undefined;
    }
    this.#depth++;
    const outer = this.#height;
    this.#height = 0;
    return outer;
  }

  leave(outerHeight: number): void {
    this.#depth--;
    this.#height = Math.max(outerHeight, this.#height + 1);
  }

  /** Counts one link of a chain (operator, index, splat). False where the limit is reached. */
  link(): boolean {
    if (++this.#height <= this.limits.maxDepth) return true;
    this.abandonTooDeep(this.start);
    return false;
  }

  /** Reports that the nesting limit was passed and moves to the end of the file. */
  abandonTooDeep(start: number): void {
    this.panicking = false;
    this.error(
      "LANG_LIMIT_DEPTH",
      `Blocks and expressions may be nested at most ${this.limits.maxDepth} levels deep, and as many operators chained.`,
      start,
      this.end,
    );
    this.problems.close();
    this.#after = this.tokens.length - 1;
    this.#sync();
  }

  /**
   * Moves behind the bracket that closes what is open here, skipping nested pairs, and ends the
   * panic. Stops before something that can only lie outside: a line that begins a body item at or
   * left of the current item's column.
   */
  recoverTo(close: TokenKind): void {
    let nesting = 0;
    const before = this.setNewlines(true);
    for (;;) {
      const kind = this.kind;
      if (kind === TokenKind.EndOfFile) break;
      if (kind === TokenKind.Newline && this.#itemFollows()) break;
      if (kind === close && nesting === 0) {
        this.next();
        this.panicking = false;
        break;
      }
      nesting += bracketChange(kind);
      if (nesting < 0) break;
      this.next();
    }
    this.setNewlines(before);
  }

  /**
   * Moves behind the end of a broken body item: a line ending outside of the brackets opened since,
   * or one before a line that looks like the next item. Ends the panic.
   */
  recoverAfterItem(): void {
    this.setNewlines(true);
    let nesting = 0;
    for (;;) {
      const kind = this.kind;
      if (kind === TokenKind.EndOfFile) break;
      if (kind === TokenKind.Newline && (nesting <= 0 || this.#itemFollows())) {
        this.next();
        break;
      }
      // A brace that was not opened here closes the body around this item.
      if (kind === TokenKind.BraceClose && nesting <= 0) break;
      nesting += bracketChange(kind);
      this.next();
    }
    this.panicking = false;
  }

  /** Whether the line after this line ending begins with an item or closes the body around. */
  #itemFollows(): boolean {
    const index = this.index + 1;
    const kind = this.tokens.kind(index);
    if (kind !== TokenKind.Identifier && kind !== TokenKind.BraceClose) return false;
    const column = this.tokens.start(index) - this.end;
    if (kind === TokenKind.BraceClose) return column < this.itemColumn;
    if (column > this.itemColumn) return false;
    switch (this.tokens.kind(index + 1)) {
      case TokenKind.Assign:
      case TokenKind.BraceOpen:
      case TokenKind.QuoteOpen:
      case TokenKind.Identifier:
        return true;
      default:
        return false;
    }
  }
}

/** +1 for what opens a bracketed stretch, -1 for what closes one. */
function bracketChange(kind: number): number {
  switch (kind) {
    case TokenKind.BraceOpen:
    case TokenKind.BracketOpen:
    case TokenKind.ParenOpen:
    case TokenKind.QuoteOpen:
    case TokenKind.HeredocOpen:
    case TokenKind.InterpolationOpen:
    case TokenKind.DirectiveOpen:
      return 1;
    case TokenKind.BraceClose:
    case TokenKind.BracketClose:
    case TokenKind.ParenClose:
    case TokenKind.QuoteClose:
    case TokenKind.HeredocClose:
    case TokenKind.SequenceClose:
      return -1;
    default:
      return 0;
  }
}
