import type { Expression } from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { parseLoopNames } from "./for-parser.ts";
import { decodePlainText, decodeQuotedText } from "./string-literal.ts";
import { didYouMean } from "./suggestion.ts";
import { removeIndentation, trimSpaceLeft, trimSpaceRight } from "./template-space.ts";
import type { TemplatePart, TemplateTextPart } from "./template-tree.ts";
import { buildTemplate } from "./template-tree.ts";
import { TokenKind } from "./token.ts";

/**
 * Reads a template up to its closing token. `start` is where its opening token begins, and `flush`
 * says that it is a heredoc whose indentation is to be removed.
 *
 * Three steps, in this order, because the result depends on it: the tokens become a flat list of
 * parts, strip markers taking white space from the text part next to them; then the indentation is
 * removed; then neighbouring texts are joined and the directives become a tree.
 */
export function parseTemplate(
  p: Cursor,
  close: TokenKind,
  flush: boolean,
  start: number,
): Expression {
  const plain = parsePlainQuoted(p, close, start);
  if (plain !== undefined) return plain;
  const parts = parseParts(p, close, start);
  if (flush) removeIndentation(parts);
  return buildTemplate(p, parts, start, p.previousEnd);
}

/** The common case without any sequence, made without lists. */
function parsePlainQuoted(p: Cursor, close: TokenKind, start: number): Expression | undefined {
  if (close !== TokenKind.QuoteClose) return undefined;
  const { source } = p;
  if (p.at(TokenKind.QuoteClose)) {
    p.next();
    return { kind: "string", source, start, end: p.previousEnd, value: "" };
  }
  if (!p.at(TokenKind.QuotedText) || p.tokens.kind(p.index + 1) !== close) return undefined;
  const value = decodeQuotedText(p.text(), p.start, p.problems);
  p.next();
  p.next();
  return { kind: "string", source, start, end: p.previousEnd, value };
}

function parseParts(p: Cursor, close: TokenKind, start: number): TemplatePart[] {
  const parts: TemplatePart[] = [];
  /** The text that was just read, if a strip marker may still take white space from its end. */
  let trimmable: TemplateTextPart | undefined;
  /** Whether the sequence before ended with a strip marker: only the very next text is trimmed. */
  let trimNext = false;
  while (!p.at(close)) {
    switch (p.kind) {
      case TokenKind.QuotedText:
      case TokenKind.PlainText: {
        const { start: textStart, end } = p;
        let value = p.at(TokenKind.PlainText)
          ? decodePlainText(p.text())
          : decodeQuotedText(p.text(), textStart, p.problems);
        if (trimNext) value = trimSpaceLeft(value);
        trimNext = false;
        trimmable = { type: "text", value, start: textStart, end };
        parts.push(trimmable);
        p.next();
        break;
      }
      case TokenKind.InterpolationOpen:
      case TokenKind.DirectiveOpen: {
        const stripLeft = p.end - p.start === 3;
        if (stripLeft && trimmable !== undefined) trimmable.value = trimSpaceRight(trimmable.value);
        trimmable = undefined;
        const part = p.at(TokenKind.InterpolationOpen) ? parseInterpolation(p) : parseDirective(p);
        if (part !== undefined) parts.push(part);
        trimNext = p.source.text[p.previousEnd - 2] === "~";
        break;
      }
      case TokenKind.Invalid:
        p.next();
        break;
      default:
        p.error(
          "LANG_STRING_UNTERMINATED",
          close === TokenKind.HeredocClose
            ? `The heredoc that begins here is never closed: a line that holds only ${heredocMarker(p, start)} is missing.`
            : "The string that begins here is never closed.",
          start,
          start + (close === TokenKind.HeredocClose ? 2 : 1),
        );
        p.recoverTo(close);
        return parts;
    }
  }
  p.next();
  return parts;
}

function heredocMarker(p: Cursor, start: number): string {
  return /^<<-?(\S+)/.exec(p.source.text.slice(start, start + 80))?.[1] ?? "the marker";
}

/** `${ expression }`, with the cursor at its opener. */
function parseInterpolation(p: Cursor): TemplatePart {
  const start = p.start;
  const newlines = p.setNewlines(false);
  p.next();
  const expression = p.grammar.expression(p);
  if (p.at(TokenKind.SequenceClose) && !p.panicking) {
    p.next();
  } else {
    interpolationEndError(p, start);
    p.recoverTo(TokenKind.SequenceClose);
  }
  p.setNewlines(newlines);
  return { type: "interpolation", expression, start, end: p.previousEnd };
}

function interpolationEndError(p: Cursor, start: number): void {
  if (p.at(TokenKind.EndOfFile) || p.at(TokenKind.QuoteClose) || p.at(TokenKind.QuoteOpen)) {
    p.error(
      "LANG_TEMPLATE_UNCLOSED",
      'This interpolation is never closed with "}".',
      start,
      start + 2,
    );
    return;
  }
  p.error(
    "LANG_TEMPLATE_SEQUENCE",
    'A closing brace is expected here, at the end of the interpolation. If this is meant for another language, such as a shell script, write "$${" to keep "${" as text.',
    p.start,
    p.end,
    { contextStart: start },
  );
}

const KEYWORDS = ["if", "else", "endif", "for", "endfor"] as const;

/** `%{ keyword ... }`, with the cursor at its opener. Undefined where it is wrong. */
function parseDirective(p: Cursor): TemplatePart | undefined {
  const start = p.start;
  const newlines = p.setNewlines(false);
  p.next();
  const part = parseDirectiveBody(p, start);
  if (p.at(TokenKind.SequenceClose) && !p.panicking) {
    p.next();
  } else {
    p.error(
      "LANG_TEMPLATE_DIRECTIVE",
      "A closing brace is expected here, at the end of the directive.",
      p.start,
      p.end,
      { contextStart: start },
    );
    p.recoverTo(TokenKind.SequenceClose);
  }
  p.setNewlines(newlines);
  return part === undefined ? undefined : { ...part, end: p.previousEnd };
}

function parseDirectiveBody(p: Cursor, start: number): TemplatePart | undefined {
  const context = { contextStart: start };
  if (!p.at(TokenKind.Identifier)) {
    p.error(
      "LANG_TEMPLATE_DIRECTIVE",
      'A directive begins with one of the words if, else, endif, for, endfor. For the text "%{" write "%%{".',
      p.start,
      p.end,
      context,
    );
    return undefined;
  }
  const keyword = p.text();
  const place = { start, end: p.end };
  switch (keyword) {
    case "else":
    case "endif":
    case "endfor":
      p.next();
      return { type: keyword, ...place };
    case "if":
      p.next();
      return { type: "if", condition: p.grammar.expression(p), ...place };
    case "for": {
      p.next();
      const names = parseLoopNames(p, (detail) => {
        p.error("LANG_FOR", detail, p.start, p.end, {
          ...context,
          summary: "Invalid 'for' directive",
        });
      });
      if (names === undefined) return undefined;
      return { type: "for", ...names, collection: p.grammar.expression(p), ...place };
    }
    default:
      p.error(
        "LANG_TEMPLATE_DIRECTIVE",
        `There is no directive "${keyword}".${didYouMean(keyword, KEYWORDS)}`,
        p.start,
        p.end,
        { ...context, summary: "Invalid template control keyword" },
      );
      return undefined;
  }
}
