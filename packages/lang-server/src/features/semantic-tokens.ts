import {
  type BodyItem,
  childExpressions,
  type Expression,
  parseReference,
  TokenKind,
} from "@stackwright/lang";
import type { SemanticTokensLegend } from "vscode-languageserver-protocol";
import { Lines } from "../document/locate.ts";
import type { FileIndex } from "../index/file-index.ts";
import type { Span } from "../index/symbol.ts";

const TYPES = [
  "type",
  "enumMember",
  "property",
  "keyword",
  "string",
  "number",
  "comment",
  "variable",
  "function",
  "namespace",
] as const;
type TokenType = (typeof TYPES)[number];

/** What the numbers of tokens mean. */
export const LEGEND: SemanticTokensLegend = {
  tokenTypes: [...TYPES],
  tokenModifiers: ["declaration"],
};

interface Colored extends Span {
  readonly type: TokenType;
  readonly declares?: boolean;
}

const LITERALS: Readonly<Partial<Record<number, TokenType>>> = {
  [TokenKind.Comment]: "comment",
  [TokenKind.Number]: "number",
  [TokenKind.QuotedText]: "string",
  [TokenKind.PlainText]: "string",
};

/**
 * The tokens of a file in the form of the protocol: five numbers each, lines and characters relative to the token before. Only
 * those that touch `within` where it is given.
 */
export function semanticTokens({ file }: FileIndex, within?: Span): number[] {
  const { source, tokens } = file;
  const found: Colored[] = [];
  const visit = (item: BodyItem): void => {
    if (item.kind === "attribute") {
      found.push({ start: item.start, end: item.nameEnd, type: "property" });
      color(item.expression, found);
      return;
    }
    found.push({ start: item.start, end: item.typeEnd, type: "type" });
    for (const { start, end } of item.labels) {
      found.push({ start, end, type: "enumMember", declares: true });
    }
    for (const inner of item.body.items) visit(inner);
  };
  for (const item of file.body.items) visit(item);
  for (let at = 0; at < tokens.length; at++) {
    const type = LITERALS[tokens.kind(at)];
    if (type !== undefined) found.push({ start: tokens.start(at), end: tokens.end(at), type });
  }
  const encoder = new Encoder(source.text);
  let last = 0;
  for (const each of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    // What is inside of another one, such as the text of a label, has its color.
    if (each.start < last || each.end <= each.start) continue;
    if (within !== undefined && (each.end < within.start || each.start > within.end)) continue;
    last = each.end;
    encoder.push(each);
  }
  return encoder.data;
}

class Encoder {
  readonly data: number[] = [];
  readonly #lines: Lines;
  readonly #text: string;
  #line = 0;
  #character = 0;

  constructor(text: string) {
    this.#text = text;
    this.#lines = new Lines(text);
  }

  /** Tokens of the protocol end with their line. */
  push({ start, end, type, declares }: Colored): void {
    for (let from = start; from < end; ) {
      const newline = this.#text.indexOf("\n", from);
      const to = newline === -1 || newline >= end ? end : newline;
      if (to > from) {
        const { line, character } = this.#lines.range({ start: from, end: to }).start;
        const sameLine = line === this.#line;
        this.data.push(
          line - this.#line,
          sameLine ? character - this.#character : character,
          to - from,
          TYPES.indexOf(type),
          declares === true ? 1 : 0,
        );
        this.#line = line;
        this.#character = character;
      }
      from = to === end ? end : to + 1;
    }
  }
}

function color(expression: Expression, found: Colored[]): void {
  if (expression.source.embedding !== undefined) return;
  const { start, end } = expression;
  if (expression.kind === "scope-traversal") {
    const isReference = parseReference(expression) !== undefined;
    found.push({ start, end: expression.rootEnd, type: isReference ? "namespace" : "variable" });
    for (const step of expression.steps) {
      if (step.kind !== "attribute-step") continue;
      found.push({ start: step.end - step.name.length, end: step.end, type: "variable" });
    }
  } else if (expression.kind === "call") {
    found.push({ start, end: expression.nameEnd, type: "function" });
  } else if (expression.kind === "boolean" || expression.kind === "null") {
    found.push({ start, end, type: "keyword" });
  } else if (expression.kind === "object") {
    for (const { key } of expression.items) {
      if (key.literal === undefined) continue;
      found.push({ start: key.start, end: key.end, type: "property" });
    }
  }
  for (const child of childExpressions(expression)) color(child, found);
}
