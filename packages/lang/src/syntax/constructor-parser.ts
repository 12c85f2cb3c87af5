import type { Expression, ObjectItem, ObjectKey } from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { parseFor } from "./for-parser.ts";
import { TokenKind } from "./token.ts";

/** `[a, b]`, or `[for ...]`. */
export function parseTuple(p: Cursor): Expression {
  const start = p.start;
  const newlines = p.setNewlines(false);
  p.next();
  if (p.isWord("for")) {
    const loop = parseFor(p, start, TokenKind.BracketClose);
    p.setNewlines(newlines);
    return loop;
  }
  const elements: Expression[] = [];
  while (!p.at(TokenKind.BracketClose)) {
    elements.push(p.grammar.expression(p));
    if (p.panicking || p.at(TokenKind.BracketClose)) break;
    if (!p.at(TokenKind.Comma)) {
      tupleSeparatorError(p, start);
      break;
    }
    p.next();
  }
  closeBracket(p, TokenKind.BracketClose);
  p.setNewlines(newlines);
  return { kind: "tuple", source: p.source, start, end: p.previousEnd, elements };
}

function tupleSeparatorError(p: Cursor, start: number): void {
  if (p.at(TokenKind.EndOfFile)) {
    p.error("LANG_TUPLE_UNTERMINATED", 'This bracket is never closed with "]".', start, start + 1);
    return;
  }
  p.error("LANG_TUPLE_SEPARATOR", "A comma is expected before the next item.", p.start, p.end, {
    contextStart: start,
  });
}

/** Takes the closing bracket, or finds it after a mistake. */
function closeBracket(p: Cursor, close: TokenKind): void {
  if (p.at(close) && !p.panicking) p.next();
  else p.recoverTo(close);
}

/** `{ key = value }`, or `{for ...}`. */
export function parseObject(p: Cursor): Expression {
  const start = p.start;
  const newlines = p.setNewlines(false);
  p.next();
  if (p.isWord("for")) {
    const loop = parseFor(p, start, TokenKind.BraceClose);
    p.setNewlines(newlines);
    return loop;
  }
  p.setNewlines(true);
  const items: ObjectItem[] = [];
  for (;;) {
    while (p.at(TokenKind.Newline)) p.next();
    if (p.at(TokenKind.BraceClose)) break;
    const key = parseObjectKey(p);
    if (p.panicking) break;
    if (!p.at(TokenKind.Assign) && !p.at(TokenKind.Colon)) {
      objectKeyError(p, start);
      break;
    }
    p.next();
    const value = p.grammar.expression(p);
    items.push({ key, value });
    if (p.panicking || p.at(TokenKind.BraceClose)) break;
    if (!p.at(TokenKind.Comma) && !p.at(TokenKind.Newline)) {
      objectSeparatorError(p, start);
      break;
    }
    p.next();
  }
  closeBracket(p, TokenKind.BraceClose);
  p.setNewlines(newlines);
  return { kind: "object", source: p.source, start, end: p.previousEnd, items };
}

function parseObjectKey(p: Cursor): ObjectKey {
  const parenthesised = p.at(TokenKind.ParenOpen);
  const expression = p.grammar.expression(p);
  const { source, start, end } = expression;
  const literal = parenthesised ? undefined : bareName(expression);
  return { kind: "object-key", source, start, end, literal, expression };
}

function bareName(expression: Expression): string | undefined {
  if (expression.kind === "boolean") return String(expression.value);
  if (expression.kind === "null") return "null";
  if (expression.kind !== "scope-traversal" || expression.steps.length > 0) return undefined;
  return expression.root;
}

function objectKeyError(p: Cursor, start: number): void {
  const place = { contextStart: start };
  switch (p.kind) {
    case TokenKind.EndOfFile:
      p.error("LANG_OBJECT_UNTERMINATED", 'This brace is never closed with "}".', start, start + 1);
      return;
    case TokenKind.Newline:
    case TokenKind.Comma:
      p.error(
        "LANG_OBJECT_VALUE",
        'A key must be followed by an equals sign and a value ("key = value").',
        p.start,
        p.end,
        place,
      );
      return;
    default:
      p.error(
        "LANG_OBJECT_KEY",
        'An equals sign is expected after the key. A key that holds dots or spaces must be written in quotes ("a.b" = value).',
        p.start,
        p.end,
        place,
      );
  }
}

function objectSeparatorError(p: Cursor, start: number): void {
  if (p.at(TokenKind.EndOfFile)) {
    p.error("LANG_OBJECT_UNTERMINATED", 'This brace is never closed with "}".', start, start + 1);
    return;
  }
  p.error(
    "LANG_OBJECT_SEPARATOR",
    "A line ending or a comma is expected before the next key.",
    p.start,
    p.end,
    { contextStart: start },
  );
}

/** `name(a, b...)` or `scope::name(a)`. The cursor is at the first name. */
export function parseCall(p: Cursor): Expression {
  const source = p.source;
  const start = p.start;
  let name = p.text();
  p.next();
  while (p.at(TokenKind.DoubleColon)) {
    p.next();
    if (!p.at(TokenKind.Identifier)) {
      p.error(
        "LANG_FUNCTION_NAME",
        '"::" must be followed by the name of a function.',
        p.start,
        p.end,
        {
          contextStart: start,
        },
      );
      return p.invalid(start);
    }
    name += `::${p.text()}`;
    p.next();
  }
  const nameEnd = p.previousEnd;
  if (!p.at(TokenKind.ParenOpen)) {
    p.error(
      "LANG_FUNCTION_NAME",
      "A name with a scope is a function: its arguments must follow in parentheses.",
      p.start,
      p.end,
      { summary: "Missing open parenthesis", contextStart: start },
    );
    return p.invalid(start);
  }
  const newlines = p.setNewlines(false);
  p.next();
  const args: Expression[] = [];
  let expandFinal = false;
  while (!p.at(TokenKind.ParenClose)) {
    args.push(p.grammar.expression(p));
    if (p.panicking || p.at(TokenKind.ParenClose)) break;
    if (p.at(TokenKind.Ellipsis)) {
      expandFinal = true;
      p.next();
      if (!p.at(TokenKind.ParenClose)) {
        const detail = 'An argument that is expanded with "..." must be the last one.';
        p.error("LANG_CALL_ARGUMENTS", detail, p.start, p.end, { contextStart: start });
      }
      break;
    }
    if (!p.at(TokenKind.Comma)) {
      callSeparatorError(p, start, nameEnd);
      break;
    }
    p.next();
  }
  const closed = p.at(TokenKind.ParenClose) && !p.panicking;
  const closeStart = p.start;
  closeBracket(p, TokenKind.ParenClose);
  p.setNewlines(newlines);
  const end = p.previousEnd;
  return {
    kind: "call",
    source,
    start,
    end,
    name,
    nameEnd,
    arguments: args,
    expandFinal,
    closeStart: closed ? closeStart : end,
  };
}

function callSeparatorError(p: Cursor, start: number, nameEnd: number): void {
  if (p.at(TokenKind.EndOfFile)) {
    const detail = "The parenthesis of this call is never closed.";
    p.error("LANG_CALL_UNTERMINATED", detail, start, nameEnd + 1);
    return;
  }
  p.error(
    "LANG_CALL_ARGUMENTS",
    "A comma is expected between the arguments of a function.",
    p.start,
    p.end,
    { summary: "Missing argument separator", contextStart: start },
  );
}
