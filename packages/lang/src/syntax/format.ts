import type { Attribute, Block, Body } from "./ast.ts";
import type { Diagnostic } from "./diagnostic.ts";
import { layOut } from "./format-layout.ts";
import { type FormatToken, formatToken, formatTokens } from "./format-token.ts";
import type { SyntaxLimits } from "./limits.ts";
import type { SourceInput } from "./open-source.ts";
import { parseFile } from "./parse.ts";
import { quoteLiteral } from "./quote.ts";
import { TokenKind } from "./token.ts";

/** Result of formatting: the text, or why the source was left alone. */
export type Formatted =
  | { readonly text: string; readonly diagnostics?: undefined }
  | { readonly text?: undefined; readonly diagnostics: readonly Diagnostic[] };

/**
 * Writes a file of native syntax in the canonical style: indentation of two spaces, one space
 * between tokens, equals signs and comments of neighbouring lines aligned. Comments, blank lines
 * and the order of things stay.
 *
 * Apart from white space it changes what the reference formatter changes: labels of blocks are put
 * in quotes, an argument that is one interpolation (`"${x}"`) loses its wrapping, and old spellings
 * of a variable's type (`"list"`, `map`) become today's. Formatting a result again changes nothing.
 *
 * A file with syntax errors is not formatted.
 */
export function formatFile(input: SourceInput, limits?: SyntaxLimits): Formatted {
  const { body, tokens, diagnostics } = parseFile(input, limits);
  if (diagnostics.length > 0) return { diagnostics };
  const rewritten = new Rewriter(formatTokens(tokens)).run(body);
  layOut(rewritten);
  return { text: rewritten.map(({ text, spaces }) => " ".repeat(spaces) + text).join("") };
}

/** Copies tokens in order and replaces those of labels, wrapped values and old types. */
class Rewriter {
  readonly #tokens: readonly FormatToken[];
  readonly #out: FormatToken[] = [];
  #at = 0;

  constructor(tokens: readonly FormatToken[]) {
    this.#tokens = tokens;
  }

  run(body: Body): FormatToken[] {
    this.#body(body, []);
    this.#copyUntil(Number.POSITIVE_INFINITY);
    return this.#out;
  }

  #body(body: Body, blocks: readonly string[]): void {
    for (const item of body.items) {
      if (item.kind === "attribute") this.#attribute(item, blocks);
      else this.#block(item, blocks);
    }
  }

  #attribute({ name, expression }: Attribute, blocks: readonly string[]): void {
    this.#copyUntil(expression.start);
    const value = this.#take(expression.end);
    const isType = blocks.length === 1 && blocks[0] === "variable" && name === "type";
    this.#append(isType ? modernType(value) : unwrap(value));
  }

  #block(block: Block, blocks: readonly string[]): void {
    this.#copyUntil(block.typeEnd);
    // The labels with everything between them.
    this.#take(block.headerEnd);
    for (const label of block.labels) {
      this.#out.push(formatToken(TokenKind.QuoteOpen, '"'));
      if (label.value !== "") {
        this.#out.push(formatToken(TokenKind.QuotedText, quoteLiteral(label.value)));
      }
      this.#out.push(formatToken(TokenKind.QuoteClose, '"'));
    }
    this.#body(block.body, [...blocks, block.type]);
  }

  #copyUntil(offset: number): void {
    this.#append(this.#take(offset));
  }

  /** One by one: an expression may have more tokens than a call may have arguments. */
  #append(tokens: readonly FormatToken[]): void {
    for (const token of tokens) this.#out.push(token);
  }

  /** The tokens that begin before an offset. */
  #take(offset: number): FormatToken[] {
    const from = this.#at;
    while ((this.#tokens[this.#at]?.start ?? Number.POSITIVE_INFINITY) < offset) this.#at++;
    return this.#tokens.slice(from, this.#at);
  }
}

/** The expression inside of `"${ }"`, where the string is nothing but one interpolation. */
function unwrap(tokens: FormatToken[]): FormatToken[] {
  const wrapped =
    tokens.length >= 5 &&
    tokens[0]?.kind === TokenKind.QuoteOpen &&
    tokens[1]?.kind === TokenKind.InterpolationOpen &&
    tokens.at(-2)?.kind === TokenKind.SequenceClose &&
    tokens.at(-1)?.kind === TokenKind.QuoteClose;
  if (!wrapped) return tokens;
  const inside = tokens.slice(2, -2);
  if (!isSingleExpression(inside)) return tokens;
  const first = inside.findIndex(({ kind }) => kind !== TokenKind.Newline);
  const last = inside.findLastIndex(({ kind }) => kind !== TokenKind.Newline);
  const trimmed = first === -1 ? [] : inside.slice(first, last + 1);
  const multiLine = trimmed.some(({ kind }) => kind === TokenKind.Newline);
  const parenthesised =
    trimmed[0]?.kind === TokenKind.ParenOpen && trimmed.at(-1)?.kind === TokenKind.ParenClose;
  // Outside of the interpolation line endings count, so that parentheses are needed.
  if (!multiLine || parenthesised) return trimmed;
  return [
    formatToken(TokenKind.ParenOpen, "("),
    ...trimmed,
    formatToken(TokenKind.ParenClose, ")"),
  ];
}

/** Whether no other sequence and no text of the outer string stands between these tokens. */
function isSingleExpression(tokens: readonly FormatToken[]): boolean {
  let quotes = 0;
  for (const { kind } of tokens) {
    if (kind === TokenKind.QuoteOpen) quotes++;
    else if (kind === TokenKind.QuoteClose) quotes--;
    else if (quotes > 0) continue;
    else if (
      kind === TokenKind.InterpolationOpen ||
      kind === TokenKind.SequenceClose ||
      kind === TokenKind.QuotedText
    ) {
      return false;
    }
  }
  return true;
}

/** A variable's type in today's spelling. */
function modernType(tokens: FormatToken[]): FormatToken[] {
  const [first, second, third] = tokens;
  if (tokens.length === 1 && first?.kind === TokenKind.Identifier) {
    return ["list", "map", "set"].includes(first.text) ? ofElement(first, "any") : tokens;
  }
  const quoted =
    tokens.length === 3 &&
    first?.kind === TokenKind.QuoteOpen &&
    second?.kind === TokenKind.QuotedText &&
    third?.kind === TokenKind.QuoteClose;
  if (!quoted) return tokens;
  const name = formatToken(TokenKind.Identifier, second.text);
  if (name.text === "string") return [name];
  return name.text === "list" || name.text === "map" ? ofElement(name, "string") : tokens;
}

function ofElement(collection: FormatToken, element: string): FormatToken[] {
  return [
    collection,
    formatToken(TokenKind.ParenOpen, "("),
    formatToken(TokenKind.Identifier, element),
    formatToken(TokenKind.ParenClose, ")"),
  ];
}
