import type {
  Binary,
  BinaryOperator,
  Expression,
  IndexStep,
  SplatItem,
  TraversalStep,
} from "./ast.ts";
import { parseCall, parseObject, parseTuple } from "./constructor-parser.ts";
import type { Cursor } from "./cursor.ts";
import { parseNumber } from "./number-literal.ts";
import { TokenKind } from "./token.ts";

interface Operator {
  readonly symbol: BinaryOperator;
  /** Binds tighter the larger it is. */
  readonly level: number;
}

const OPERATORS: readonly (Operator | undefined)[] = (() => {
  const table: (Operator | undefined)[] = Array.from({ length: 64 });
  const define = (level: number, kind: TokenKind, symbol: BinaryOperator): void => {
    table[kind] = { symbol, level };
  };
  define(1, TokenKind.Or, "||");
  define(2, TokenKind.And, "&&");
  define(3, TokenKind.Equal, "==");
  define(3, TokenKind.NotEqual, "!=");
  define(4, TokenKind.Less, "<");
  define(4, TokenKind.LessEqual, "<=");
  define(4, TokenKind.Greater, ">");
  define(4, TokenKind.GreaterEqual, ">=");
  define(5, TokenKind.Plus, "+");
  define(5, TokenKind.Minus, "-");
  define(6, TokenKind.Star, "*");
  define(6, TokenKind.Slash, "/");
  define(6, TokenKind.Percent, "%");
  return table;
})();

/** Reads one expression: `condition ? a : b` or anything that binds tighter. */
export function parseExpression(p: Cursor): Expression {
  const start = p.start;
  const outer = p.enter();
  if (outer === undefined) return p.invalid(start);
  const expression = parseConditional(p);
  p.leave(outer);
  return expression;
}

function parseConditional(p: Cursor): Expression {
  const condition = parseBinary(p, 1);
  if (!p.at(TokenKind.Question) || p.panicking) return condition;
  p.next();
  const whenTrue = parseExpression(p);
  if (p.panicking) return condition;
  if (!p.at(TokenKind.Colon)) {
    p.error(
      "LANG_CONDITIONAL",
      'A conditional has the form "condition ? value : other value": the colon and the second value are missing.',
      p.start,
      p.end,
      { contextStart: condition.start },
    );
    return condition;
  }
  p.next();
  const whenFalse = parseExpression(p);
  return {
    kind: "conditional",
    source: p.source,
    start: condition.start,
    end: whenFalse.end,
    condition,
    whenTrue,
    whenFalse,
  };
}

/** Operators of at least the given level, left to right. */
function parseBinary(p: Cursor, level: number): Expression {
  let left = parseOperand(p);
  for (;;) {
    const operator = OPERATORS[p.kind];
    if (operator === undefined || operator.level < level || p.panicking) return left;
    if (!p.link()) return left;
    p.next();
    const right = parseBinary(p, operator.level + 1);
    const binary: Binary = {
      kind: "binary",
      source: p.source,
      start: left.start,
      end: right.end,
      operator: operator.symbol,
      left,
      right,
    };
    left = binary;
  }
}

/** A term with the steps after it. A sign binds looser than steps and tighter than operators. */
function parseOperand(p: Cursor): Expression {
  if (!p.at(TokenKind.Minus) && !p.at(TokenKind.Not)) return parseSteps(p, parseTerm(p));
  const start = p.start;
  const operator = p.at(TokenKind.Minus) ? "-" : "!";
  p.next();
  const outer = p.enter();
  if (outer === undefined) return p.invalid(start);
  const operand = parseOperand(p);
  p.leave(outer);
  return { kind: "unary", source: p.source, start, end: operand.end, operator, operand };
}

function parseTerm(p: Cursor): Expression {
  const source = p.source;
  const start = p.start;
  const end = p.end;
  switch (p.kind) {
    case TokenKind.Identifier: {
      const following = p.peek();
      if (following === TokenKind.ParenOpen || following === TokenKind.DoubleColon) {
        return parseCall(p);
      }
      const name = p.text();
      p.next();
      if (name === "true" || name === "false") {
        return { kind: "boolean", source, start, end, value: name === "true" };
      }
      if (name === "null") return { kind: "null", source, start, end };
      return { kind: "scope-traversal", source, start, end, root: name, rootEnd: end, steps: [] };
    }
    case TokenKind.Number:
      return parseNumber(p);
    case TokenKind.QuoteOpen:
      p.next();
      return p.grammar.template(p, TokenKind.QuoteClose, false, start);
    case TokenKind.HeredocOpen: {
      const flush = source.text[start + 2] === "-";
      p.next();
      return p.grammar.template(p, TokenKind.HeredocClose, flush, start);
    }
    case TokenKind.ParenOpen:
      return parseParentheses(p);
    case TokenKind.BracketOpen:
      return parseTuple(p);
    case TokenKind.BraceOpen:
      return parseObject(p);
    case TokenKind.EndOfFile:
      p.error("LANG_EXPRESSION_MISSING", "An expression is missing before the end of the file.");
      return p.invalid(start, end);
    case TokenKind.Newline:
      p.error("LANG_EXPRESSION", "An expression is missing before the end of this line.");
      return p.invalid(start, start);
    default:
      p.error("LANG_EXPRESSION", "An expression cannot begin with this.");
      return p.invalid(start, end);
  }
}

function parseParentheses(p: Cursor): Expression {
  const start = p.start;
  const newlines = p.setNewlines(false);
  p.next();
  const expression = parseExpression(p);
  if (p.at(TokenKind.ParenClose) && !p.panicking) {
    p.next();
  } else {
    p.error(
      "LANG_PARENTHESES",
      "A closing parenthesis is expected here, at the end of the expression.",
      p.start,
      p.end,
      { contextStart: start },
    );
    p.recoverTo(TokenKind.ParenClose);
  }
  p.setNewlines(newlines);
  return { kind: "parentheses", source: p.source, start, end: p.previousEnd, expression };
}

// ---- steps: attribute access, index, splat ----

/** The steps after a term: `.name`, `.0`, `[key]`, `[*]` and `.*`, as many as there are. */
function parseSteps(p: Cursor, from: Expression): Expression {
  let result = from;
  while (!p.panicking) {
    if (p.at(TokenKind.Dot)) {
      const dotStart = p.start;
      p.next();
      if (p.at(TokenKind.Star)) {
        if (!p.link()) return result;
        result = parseAttributeSplat(p, result, dotStart);
        continue;
      }
      const step = parseDotStep(p, dotStart);
      if (step === undefined) return p.invalid(result.start);
      result = withStep(result, step);
    } else if (p.at(TokenKind.BracketOpen)) {
      if (p.peek() === TokenKind.Star) {
        if (!p.link()) return result;
        return parseFullSplat(p, result);
      }
      result = parseIndex(p, result);
    } else {
      return result;
    }
  }
  return result;
}

/** What follows a dot: a name, or the old way to write a literal index. */
function parseDotStep(p: Cursor, start: number): TraversalStep | undefined {
  if (p.at(TokenKind.Identifier)) {
    const name = p.text();
    const end = p.end;
    p.next();
    return { kind: "attribute-step", source: p.source, start, end, name };
  }
  if (p.at(TokenKind.Number)) {
    const text = p.text();
    if (text.includes(".")) {
      const brackets = text.split(".").map((part) => `[${part}]`);
      p.error(
        "LANG_LEGACY_INDEX",
        `Two indexes in a row cannot be written with dots, because "${text}" reads as a number. Write ${brackets.join("")} instead.`,
      );
      return undefined;
    }
    const key = parseNumber(p);
    if (key.kind !== "number") return undefined;
    return { kind: "index-step", source: p.source, start, end: key.end, key };
  }
  p.error("LANG_ATTRIBUTE_NAME", "A dot must be followed by the name of an attribute.");
  return undefined;
}

/** Literal steps are kept in one list, so that static analysis finds whole references. */
function withStep(from: Expression, step: TraversalStep): Expression {
  if (from.kind === "scope-traversal" || from.kind === "relative-traversal") {
    // The list was made in this call chain and is not shared yet.
    (from.steps as TraversalStep[]).push(step);
    (from as { end: number }).end = step.end;
    return from;
  }
  const { source, start } = from;
  return { kind: "relative-traversal", source, start, end: step.end, from, steps: [step] };
}

function parseIndex(p: Cursor, collection: Expression): Expression {
  const openStart = p.start;
  const newlines = p.setNewlines(false);
  p.next();
  const key = parseExpression(p);
  if (p.at(TokenKind.BracketClose) && !p.panicking) {
    p.next();
  } else {
    p.error(
      "LANG_INDEX_BRACKET",
      'The index must be closed with a bracket ("]").',
      p.start,
      p.end,
      {
        contextStart: collection.start,
      },
    );
    p.recoverTo(TokenKind.BracketClose);
  }
  p.setNewlines(newlines);
  const source = p.source;
  const end = p.previousEnd;
  if (isLiteralKey(key)) {
    return withStep(collection, { kind: "index-step", source, start: openStart, end, key });
  }
  p.link();
  return { kind: "index", source, start: collection.start, end, collection, key, openStart };
}

function isLiteralKey(key: Expression): key is IndexStep["key"] {
  return (
    key.kind === "number" || key.kind === "string" || key.kind === "boolean" || key.kind === "null"
  );
}

/** `[*]`: everything that follows belongs to the element. */
function parseFullSplat(p: Cursor, from: Expression): Expression {
  const source = p.source;
  const markerStart = p.start;
  // A line ending between the brackets ends the expression, as in the reference: only an index may be on lines of its own.
  p.next();
  p.next();
  if (p.at(TokenKind.BracketClose)) {
    p.next();
  } else {
    p.error(
      "LANG_SPLAT",
      'The star of a splat must be closed with a bracket: "[*]".',
      p.start,
      p.end,
      {
        contextStart: from.start,
      },
    );
    p.recoverTo(TokenKind.BracketClose);
  }
  const markerEnd = p.previousEnd;
  const item: SplatItem = { kind: "splat-item", source, start: markerStart, end: markerEnd };
  const outer = p.enter();
  if (outer === undefined) return p.invalid(from.start);
  const each = parseSteps(p, item);
  p.leave(outer);
  const { start } = from;
  return { kind: "splat", source, start, end: each.end, from, each, item, markerStart, markerEnd };
}

/** `.*`: only the attribute steps that follow belong to the element, an index to the result. */
function parseAttributeSplat(p: Cursor, from: Expression, markerStart: number): Expression {
  const source = p.source;
  const markerEnd = p.end;
  p.next();
  const item: SplatItem = { kind: "splat-item", source, start: markerStart, end: markerEnd };
  let each: Expression = item;
  while (p.at(TokenKind.Dot) && !p.panicking) {
    const dotStart = p.start;
    p.next();
    if (p.at(TokenKind.Star)) {
      p.error(
        "LANG_SPLAT",
        'A splat inside of a ".*" splat is not possible; use "[*]" for the outer one.',
      );
      break;
    }
    const step = parseDotStep(p, dotStart);
    if (step === undefined) break;
    each = withStep(each, step);
  }
  const { start } = from;
  return { kind: "splat", source, start, end: each.end, from, each, item, markerStart, markerEnd };
}
