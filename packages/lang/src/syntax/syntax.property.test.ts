import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { configText, expressionText } from "../testing/config-arbitrary.ts";
import { outlineBody } from "../testing/outline.ts";
import type { Body, Expression } from "./ast.ts";
import { formatFile } from "./format.ts";
import { parseJson } from "./json-parser.ts";
import { parseExpression, parseFile, parseTemplate } from "./parse.ts";
import { expressionReferences } from "./references.ts";
import { type TokenBuffer, TokenKind } from "./token.ts";
import { childExpressions } from "./walk.ts";

/** The source put together from its tokens and the white space between them. */
function fromTokens(tokens: TokenBuffer): string {
  const { text, contentStart } = tokens.source;
  let at = contentStart;
  let out = text.slice(0, at);
  for (let index = 0; index < tokens.length; index++) {
    const between = text.slice(at, tokens.start(index));
    expect(between).toMatch(/^[ \t]*$/);
    out += between + tokens.text(index);
    at = tokens.end(index);
  }
  return out;
}

function comments(tokens: TokenBuffer): string[] {
  const found: string[] = [];
  for (let index = 0; index < tokens.length; index++) {
    if (tokens.kind(index) === TokenKind.Comment) found.push(tokens.text(index).trimEnd());
  }
  return found;
}

/** Every child lies inside of its parent, and every node inside of the source. */
function checkRanges(body: Body): void {
  for (const item of body.items) {
    expect(item.start).toBeGreaterThanOrEqual(body.start);
    expect(item.end).toBeLessThanOrEqual(body.end);
    if (item.kind === "block") checkRanges(item.body);
    else checkExpression(item.expression, item.start, item.end);
  }
}

function checkExpression(node: Expression, start: number, end: number): void {
  expect(node.start).toBeGreaterThanOrEqual(start);
  expect(node.end).toBeLessThanOrEqual(end);
  expect(node.end).toBeGreaterThanOrEqual(node.start);
  for (const child of childExpressions(node)) checkExpression(child, node.start, node.end);
}

describe("files that are valid by construction", () => {
  it("parse without problems, losslessly, with nested ranges", () => {
    fc.assert(
      fc.property(configText, (text) => {
        const { body, tokens, diagnostics } = parseFile({ name: "t", text });
        expect(diagnostics.map(({ code, detail }) => `${code} ${detail}`)).toEqual([]);
        expect(fromTokens(tokens)).toBe(text);
        checkRanges(body);
      }),
    );
  });

  it("keep their meaning, their comments and their form when formatted again", () => {
    fc.assert(
      fc.property(configText, (text) => {
        // Of interpolations in one another each run takes one away, as the reference does.
        fc.pre(!/"\$\{~?\s*"/.test(text));
        const once = formatFile({ name: "t", text }).text ?? "";
        expect(formatFile({ name: "t", text: once }).text).toBe(once);
        const before = parseFile({ name: "t", text });
        const after = parseFile({ name: "t", text: once });
        expect(comments(after.tokens)).toEqual(comments(before.tokens));
        // A value that was one interpolation loses its wrapping, which is the same value.
        const bare = (outline: string): string =>
          outline.replace(/=wrap\(/g, "=(").replace(/[()]/g, "");
        expect(bare(outlineBody(after.body)).replaceAll("paren", "")).toBe(
          bare(outlineBody(before.body)).replaceAll("paren", ""),
        );
      }),
    );
  });
});

/** Cuts, doubles and replaces pieces of a text. */
const mutations = fc.array(
  fc.record({
    at: fc.nat(500),
    length: fc.nat(8),
    insert: fc.constantFrom(
      "",
      "{",
      "}",
      '"',
      "${",
      "%{",
      "(",
      "]",
      "\n",
      "<<E\n",
      "=",
      "\u0000",
      "\ud800",
      "~}",
      "for ",
      "é",
      "`",
      "/*",
    ),
  }),
  { minLength: 1, maxLength: 5 },
);

function mutate(
  text: string,
  changes: readonly { at: number; length: number; insert: string }[],
): string {
  return changes.reduce((current, { at, length, insert }) => {
    const from = at % (current.length + 1);
    return current.slice(0, from) + insert + current.slice(from + length);
  }, text);
}

describe("files with any mistakes", () => {
  it("never make the parser throw, hang or lose text", () => {
    fc.assert(
      fc.property(configText, mutations, (text, changes) => {
        const broken = mutate(text, changes);
        const { body, tokens, diagnostics } = parseFile({ name: "t", text: broken });
        expect(fromTokens(tokens)).toBe(broken);
        for (const { subject } of diagnostics) {
          expect(subject).toBeDefined();
          expect(subject?.end).toBeLessThanOrEqual(broken.length + 1);
        }
        outlineBody(body);
        if (diagnostics.length === 0) checkRanges(body);
      }),
    );
  });

  it("never make the expression, template and JSON parsers throw", () => {
    fc.assert(
      fc.property(expressionText, mutations, (text, changes) => {
        const broken = mutate(text, changes);
        expressionReferences(parseExpression({ name: "t", text: broken }).value);
        parseTemplate({ name: "t", text: broken });
        parseJson({ name: "t", text: broken });
      }),
    );
  });
});

describe("JSON", () => {
  it("is read as JSON.parse reads it", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (value, indented) => {
        const text = JSON.stringify(value, null, indented ? 2 : 0);
        const { root, diagnostics } = parseJson({ name: "t", text });
        expect(diagnostics).toEqual([]);
        expect(text.slice(root.start, root.end)).toBe(text);
      }),
    );
  });

  it("is refused exactly where JSON.parse refuses it", () => {
    fc.assert(
      fc.property(fc.json(), mutations, (text, changes) => {
        const broken = mutate(text, changes).toWellFormed().replaceAll("\ufffd", "");
        let valid = true;
        try {
          JSON.parse(broken);
        } catch {
          valid = false;
        }
        const { diagnostics } = parseJson({ name: "t", text: broken });
        // Nothing is read behind a number that is too large here.
        fc.pre(diagnostics.every(({ code }) => code !== "LANG_LIMIT_NUMBER"));
        expect(diagnostics.length === 0).toBe(valid);
      }),
    );
  });
});
