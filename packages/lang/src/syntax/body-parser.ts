import type { Attribute, Block, BlockLabel, Body, BodyItem } from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { decodeQuotedText } from "./string-literal.ts";
import { TokenKind } from "./token.ts";

/** Reads items up to the closing token, which is taken. `openStart` is where the body was opened. */
export function parseBody(p: Cursor, end: TokenKind, openStart: number): Body {
  const items: BodyItem[] = [];
  const attributes = new Map<string, Attribute>();
  for (;;) {
    switch (p.kind) {
      case end:
        p.next();
        return body(p, openStart, items);
      case TokenKind.Newline:
        p.next();
        continue;
      case TokenKind.EndOfFile:
        p.error(
          "LANG_BLOCK_UNCLOSED",
          'The brace that opens this block is never closed with "}" before the end of the file. A brace may be missing further inside, too.',
          openStart,
          openStart + 1,
        );
        return body(p, openStart, items);
      case TokenKind.Identifier: {
        const item = parseItem(p);
        if (item === undefined) continue;
        if (item.kind === "attribute") {
          const earlier = attributes.get(item.name);
          if (earlier !== undefined) {
            reportDuplicate(p, item, earlier);
            continue;
          }
          attributes.set(item.name, item);
        }
        items.push(item);
        continue;
      }
      default:
        reportStray(p);
        // An unmatched closing brace is skipped, everything else up to the next line.
        if (p.at(TokenKind.BraceClose)) p.next();
        p.recoverAfterItem();
    }
  }
}

function body(p: Cursor, start: number, items: readonly BodyItem[]): Body {
  return { kind: "body", source: p.source, start, end: Math.max(start, p.previousEnd), items };
}

function reportDuplicate(p: Cursor, attribute: Attribute, earlier: Attribute): void {
  const { line } = p.source.position(earlier.start);
  p.problems.error(
    "LANG_ATTRIBUTE_DUPLICATE",
    `The argument "${attribute.name}" is set already, on line ${line}. An argument can be set once.`,
    attribute.start,
    attribute.nameEnd,
  );
}

function reportStray(p: Cursor): void {
  if (p.at(TokenKind.QuoteOpen)) {
    const detail = "The name of an argument is written without quotes.";
    p.error("LANG_ARGUMENT_NAME", detail, p.start, p.end);
  } else if (p.at(TokenKind.BraceClose)) {
    const detail = "There is no open block that this brace could close.";
    p.error("LANG_BODY_ITEM", detail, p.start, p.end);
  } else {
    p.error("LANG_BODY_ITEM", "Only arguments and blocks can stand here.");
  }
}

function parseItem(p: Cursor): BodyItem | undefined {
  const { start } = p;
  const column = start - p.source.text.lastIndexOf("\n", start - 1) - 1;
  p.itemColumn = column;
  const following = p.peek();
  switch (following) {
    case TokenKind.Assign: {
      const attribute = parseAttribute(p);
      if (p.panicking) p.recoverAfterItem();
      else if (p.at(TokenKind.Newline)) p.next();
      else if (!p.at(TokenKind.EndOfFile)) reportArgumentEnd(p, start);
      return attribute;
    }
    case TokenKind.QuoteOpen:
    case TokenKind.BraceOpen:
    case TokenKind.Identifier: {
      const block = parseBlock(p);
      p.itemColumn = column;
      if (p.panicking) {
        p.recoverAfterItem();
      } else if (p.at(TokenKind.Newline)) {
        p.next();
      } else if (!p.at(TokenKind.EndOfFile)) {
        p.error(
          "LANG_BLOCK_END",
          "After the brace that closes a block the line must end.",
          p.start,
          p.end,
          { contextStart: block.start },
        );
        p.recoverAfterItem();
      }
      return block;
    }
    default: {
      const { end } = p;
      const name = p.text();
      p.next();
      p.error(
        "LANG_BODY_ITEM",
        `To set an argument write "${name} = value", to begin a block write "${name} {".`,
        start,
        end,
      );
      p.recoverAfterItem();
      return undefined;
    }
  }
}

function reportArgumentEnd(p: Cursor, start: number): void {
  if (p.at(TokenKind.Comma)) {
    p.error(
      "LANG_ARGUMENT_COMMA",
      "Arguments are separated by line endings, not by commas.",
      p.start,
      p.end,
      { contextStart: start },
    );
  } else {
    p.error(
      "LANG_ARGUMENT_END",
      "After the value of an argument the line must end.",
      p.start,
      p.end,
      { contextStart: start },
    );
  }
  p.recoverAfterItem();
}

/** `name = expression`, without what ends it. The cursor is at the name. */
function parseAttribute(p: Cursor): Attribute {
  const { source, start, end: nameEnd } = p;
  const name = p.text();
  p.next();
  const equalsStart = p.start;
  p.next();
  const expression = p.grammar.expression(p);
  const end = Math.max(expression.end, nameEnd);
  return { kind: "attribute", source, start, end, name, nameEnd, equalsStart, expression };
}

function parseBlock(p: Cursor): Block {
  const { source, start, end: typeEnd } = p;
  const type = p.text();
  p.next();
  const labels: BlockLabel[] = [];
  while (p.at(TokenKind.QuoteOpen) || p.at(TokenKind.Identifier)) labels.push(parseLabel(p));
  const headerEnd = p.previousEnd;
  if (!p.at(TokenKind.BraceOpen) || p.panicking) {
    reportHeader(p, start);
    const empty = body(p, headerEnd, []);
    return {
      kind: "block",
      source,
      start,
      end: headerEnd,
      type,
      typeEnd,
      labels,
      headerEnd,
      body: empty,
    };
  }
  const openStart = p.start;
  const outer = p.enter();
  let content: Body;
  if (outer === undefined) {
    content = body(p, openStart, []);
  } else {
    p.next();
    const multiLine =
      p.at(TokenKind.Newline) || p.at(TokenKind.EndOfFile) || p.at(TokenKind.BraceClose);
    content = multiLine
      ? parseBody(p, TokenKind.BraceClose, openStart)
      : parseSingleLineBody(p, openStart);
    p.leave(outer);
  }
  return {
    kind: "block",
    source,
    start,
    end: content.end,
    type,
    typeEnd,
    labels,
    headerEnd,
    body: content,
  };
}

function reportHeader(p: Cursor, start: number): void {
  const context = { contextStart: start };
  if (p.at(TokenKind.Assign)) {
    const detail = 'A block is written without an equals sign: "type {".';
    p.error("LANG_BLOCK", detail, p.start, p.end, context);
  } else if (p.at(TokenKind.Newline)) {
    const detail = 'The opening brace ("{") must stand on the line of the block type.';
    p.error("LANG_BLOCK", detail, p.start, p.end, context);
  } else {
    const detail = 'A label in quotes or an opening brace ("{") is expected here.';
    p.error("LANG_BLOCK", detail, p.start, p.end, context);
  }
}

/** A label: a bare name, or a quoted one in which nothing is evaluated. */
function parseLabel(p: Cursor): BlockLabel {
  const { source, start } = p;
  if (p.at(TokenKind.Identifier)) {
    const { end } = p;
    const value = p.text();
    p.next();
    return { kind: "label", source, start, end, value, quoted: false };
  }
  p.next();
  let value = "";
  while (!p.at(TokenKind.QuoteClose)) {
    if (p.at(TokenKind.QuotedText)) {
      value += decodeQuotedText(p.text(), p.start, p.problems);
      p.next();
    } else if (p.at(TokenKind.InterpolationOpen) || p.at(TokenKind.DirectiveOpen)) {
      const opener = p.text().slice(0, 2);
      p.error(
        "LANG_STRING_LITERAL",
        `A label is plain text, nothing in it is evaluated. For the text "${opener}" write "${opener[0]}${opener}".`,
        p.start,
        p.end,
        { contextStart: start },
      );
      p.next();
      p.recoverTo(TokenKind.SequenceClose);
    } else {
      p.error(
        "LANG_STRING_LITERAL",
        "The label that begins here is never closed.",
        start,
        start + 1,
      );
      break;
    }
  }
  p.next();
  return { kind: "label", source, start, end: p.previousEnd, value, quoted: true };
}

/** `{ name = value }` on one line: exactly one argument. The cursor is behind the brace. */
function parseSingleLineBody(p: Cursor, openStart: number): Body {
  const items: BodyItem[] = [];
  if (!p.at(TokenKind.Identifier)) {
    reportStray(p);
  } else if (p.peek() === TokenKind.Assign) {
    items.push(parseAttribute(p));
    if (!p.panicking && !p.at(TokenKind.BraceClose)) reportSingleLineEnd(p, openStart);
  } else {
    const name = p.text();
    const block = isBlockStart(p.peek());
    p.error(
      block ? "LANG_BLOCK_SINGLE_LINE" : "LANG_BODY_ITEM",
      block
        ? `A block on one line can hold a single argument and no blocks. Put "${name}" on a line of its own.`
        : `To set an argument write "${name} = value".`,
      p.start,
      p.end,
      { contextStart: openStart },
    );
  }
  if (p.at(TokenKind.BraceClose) && !p.panicking) p.next();
  else p.recoverTo(TokenKind.BraceClose);
  return body(p, openStart, items);
}

function isBlockStart(kind: number): boolean {
  return (
    kind === TokenKind.QuoteOpen || kind === TokenKind.BraceOpen || kind === TokenKind.Identifier
  );
}

function reportSingleLineEnd(p: Cursor, openStart: number): void {
  if (p.at(TokenKind.EndOfFile)) {
    const detail = 'The brace that opens this block is never closed with "}".';
    p.error("LANG_BLOCK_UNCLOSED", detail, openStart, openStart + 1);
    return;
  }
  p.error(
    "LANG_BLOCK_SINGLE_LINE",
    "A block that is begun on the line of its brace holds one argument and is closed on the same line. Put every argument and the closing brace on lines of their own.",
    p.start,
    p.end,
    { contextStart: openStart },
  );
}
