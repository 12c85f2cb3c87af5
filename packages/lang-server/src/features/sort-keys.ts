import {
  type Expression,
  hasErrors,
  type ObjectItem,
  type SyntaxFile,
  TokenKind,
} from "@stackwright/lang";
import { type CodeAction, CodeActionKind } from "vscode-languageserver-protocol";
import { expressionsAt, findPlace } from "../document/find-place.ts";
import { uriOf } from "../document/locate.ts";
import { tokenAt } from "../document/token-at.ts";
import type { FileIndex } from "../index/file-index.ts";
import type { Span } from "../index/symbol.ts";
import { formattedEdits, type SpanEdit } from "./formatted-edits.ts";

type ObjectExpression = Extract<Expression, { kind: "object" }>;

/** An item of an object with what is said about it. */
interface Piece {
  readonly key: string;
  /** From the comments above it to the end of its value. */
  readonly item: Span;
  readonly hasComma: boolean;
  /** What is behind it, and behind its comma, on its last line. */
  readonly rest: Span;
}

/**
 * Offers to sort the keys of the innermost object around an offset, whose order means nothing. Comments stay with their items, and empty lines
 * where they are: what they separate is sorted by itself. None where keys are not constants, or the lines do not show what
 * comments are about.
 */
export function keySorting({ file }: FileIndex, path: string, offset: number): CodeAction[] {
  if (hasErrors(file.diagnostics)) return [];
  const { attribute } = findPlace(file, offset);
  const object = attribute && expressionsAt(attribute.expression, offset).findLast(isObject);
  if (object === undefined || object.source !== file.source) return [];
  const groups = onOneLine(file, object) ?? onOwnLines(file, object);
  if (groups === undefined || !haveDifferentKeys(groups.flat())) return [];
  const edits = groups.flatMap((group) => sorted(file.source.text, group) ?? []);
  const formatted = edits.length === 0 ? undefined : formattedEdits(file, edits);
  if (formatted === undefined) return [];
  const changes = { [uriOf(path)]: formatted };
  return [{ title: "Sort the keys", kind: CodeActionKind.RefactorRewrite, edit: { changes } }];
}

function isObject(expression: Expression): expression is ObjectExpression {
  return expression.kind === "object";
}

function haveDifferentKeys(pieces: readonly Piece[]): boolean {
  return new Set(pieces.map(({ key }) => key)).size === pieces.length;
}

function keyOf({ key }: ObjectItem): string | undefined {
  const { literal, expression } = key;
  // Texts that are the same when they are normalized are one key, of which the last counts.
  return (literal ?? (expression.kind === "string" ? expression.value : undefined))?.normalize();
}

/** The edit that sorts pieces; none where they are sorted. Commas stay at their places. */
function sorted(text: string, pieces: readonly Piece[]): SpanEdit | undefined {
  const order = pieces.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const [first] = pieces;
  const last = pieces.at(-1);
  if (first === undefined || last === undefined) return undefined;
  if (order.every((piece, at) => piece === pieces[at])) return undefined;
  let newText = "";
  for (const [at, { item, rest }] of order.entries()) {
    const place = pieces[at] ?? first;
    newText += text.slice(item.start, item.end) + (place.hasComma ? "," : "");
    newText += text.slice(rest.start, rest.end);
    const next = pieces[at + 1];
    if (next !== undefined) newText += text.slice(place.rest.end, next.item.start);
  }
  return { start: first.item.start, end: last.rest.end, newText };
}

/** The items of an object that has commas alone between them. */
function onOneLine(file: SyntaxFile, object: ObjectExpression): Piece[][] | undefined {
  const pieces: Piece[] = [];
  let before = object.start + 1;
  for (const item of object.items) {
    const key = keyOf(item);
    if (key === undefined) return undefined;
    const kinds = tokensBetween(file, { start: before, end: item.key.start }).map(
      ({ kind }) => kind,
    );
    const isFirst = pieces.length === 0;
    if (kinds.length !== (isFirst ? 0 : 1) || kinds.some((kind) => kind !== TokenKind.Comma)) {
      return undefined;
    }
    before = item.value.end;
    const end = { start: before, end: before };
    pieces.push({ key, item: { start: item.key.start, end: before }, hasComma: false, rest: end });
  }
  const behind = tokensBetween(file, { start: before, end: object.end - 1 });
  return behind.every(({ kind }) => kind === TokenKind.Comma) ? [pieces] : undefined;
}

/** The items of an object of which each begins and ends a line; those between empty lines together. */
function onOwnLines(file: SyntaxFile, object: ObjectExpression): Piece[][] | undefined {
  const { text } = file.source;
  const groups: Piece[][] = [];
  let hasCommas = false;
  let before = object.start + 1;
  for (const [at, item] of object.items.entries()) {
    const key = keyOf(item);
    const above = linesAbove(file, { start: before, end: item.key.start });
    const next = object.items[at + 1]?.key.start ?? object.end - 1;
    const behind = restOfLine(file, { start: item.value.end, end: next });
    if (key === undefined || above === undefined || behind === undefined) return undefined;
    const lineStart = text.lastIndexOf("\n", above.start - 1) + 1;
    const { hasComma, rest } = behind;
    hasCommas ||= hasComma;
    const piece = { key, item: { start: lineStart, end: item.value.end }, hasComma, rest };
    if (above.isSeparated || at === 0) groups.push([piece]);
    else groups.at(-1)?.push(piece);
    before = rest.end;
  }
  // The end of such a text has its line for itself.
  const hasTexts = text.slice(object.start, object.end).includes("<<");
  return hasCommas && hasTexts ? undefined : groups;
}

interface PlacedToken extends Span {
  readonly kind: number;
}

function tokensBetween({ tokens }: SyntaxFile, { start, end }: Span): PlacedToken[] {
  const found: PlacedToken[] = [];
  for (let at = tokenAt(tokens, start); at < tokens.length && tokens.start(at) < end; at += 1) {
    found.push({ kind: tokens.kind(at), start: tokens.start(at), end: tokens.end(at) });
  }
  return found;
}

/** Where the lines begin that are about an item, and whether an empty one is above them. */
function linesAbove(
  file: SyntaxFile,
  between: Span,
): { readonly start: number; readonly isSeparated: boolean } | undefined {
  const tokens = tokensBetween(file, between);
  if (tokens[0]?.kind !== TokenKind.Newline || tokens.at(-1)?.kind !== TokenKind.Newline) {
    return undefined;
  }
  let start = between.end;
  let isSeparated = false;
  for (let at = tokens.length - 1; at > 0; at -= 1) {
    const [token, former] = [tokens[at], tokens[at - 1]];
    if (token?.kind === TokenKind.Comment) {
      if (former?.kind !== TokenKind.Newline) return undefined;
      start = token.start;
    } else if (token?.kind !== TokenKind.Newline) {
      return undefined;
    } else if (former?.kind === TokenKind.Newline) {
      isSeparated = true;
      break;
    }
  }
  return { start, isSeparated };
}

/** The comma and the comment behind an item, to the end of its line. */
function restOfLine(
  file: SyntaxFile,
  between: Span,
): { readonly hasComma: boolean; readonly rest: Span } | undefined {
  const tokens = tokensBetween(file, between);
  const hasComma = tokens[0]?.kind === TokenKind.Comma;
  const start = hasComma ? (tokens[0]?.end ?? between.start) : between.start;
  for (const { kind, start: end } of hasComma ? tokens.slice(1) : tokens) {
    if (kind === TokenKind.Newline) return { hasComma, rest: { start, end } };
    if (kind !== TokenKind.Comment) return undefined;
  }
  return undefined;
}
