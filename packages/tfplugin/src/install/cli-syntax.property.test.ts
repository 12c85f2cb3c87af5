import fc from "fast-check";
import { expect, it } from "vitest";
import { TfpluginError } from "../errors.ts";
import { type CliBody, type CliValue, parseCliSyntax } from "./cli-syntax.ts";

const NAME = fc.stringMatching(/^[a-z_][\w-]{0,8}$/);
const TEXT = fc.string({ unit: "grapheme" });

const { value } = fc.letrec<{ value: CliValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    TEXT,
    fc.integer(),
    fc.boolean(),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(NAME, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

const { body } = fc.letrec<{ body: CliBody }>((tie) => ({
  body: fc.record({
    attributes: fc.array(fc.record({ name: NAME, value, line: fc.constant(0) }), { maxLength: 3 }),
    blocks: fc.oneof(
      { maxDepth: 2 },
      fc.constant([]),
      fc.array(
        fc.record({
          type: NAME,
          labels: fc.array(TEXT, { maxLength: 2 }),
          body: tie("body"),
          line: fc.constant(0),
        }),
        { maxLength: 2 },
      ),
    ),
  }),
}));

/** Writes what is to be read; the spacing says nothing. */
function format({ attributes, blocks }: CliBody): string {
  const lines = attributes.map(({ name, value: given }) => `${name} = ${formatValue(given)}\n`);
  const inner = blocks.map((block) => {
    const labels = block.labels.map((label) => ` ${quote(label)}`).join("");
    return `${block.type}${labels} { # a comment\n${format(block.body)}}\n`;
  });
  return [...lines, ...inner].join("");
}

function formatValue(given: CliValue): string {
  if (typeof given === "string") return quote(given);
  if (typeof given !== "object") return String(given);
  if (Array.isArray(given))
    return `[${given.map((item: CliValue) => formatValue(item)).join(", ")}]`;
  const members = Object.entries(given).map(([name, item]) => `${name} = ${formatValue(item)}`);
  return `{ ${members.join(" ")} }`;
}

function quote(text: string): string {
  const escaped = text.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
  return `"${escaped}"`;
}

function withoutLines({ attributes, blocks }: CliBody): unknown {
  return {
    attributes: attributes.map(({ name, value: given }) => ({ name, value: given })),
    blocks: blocks.map((block) => ({
      type: block.type,
      labels: block.labels,
      body: withoutLines(block.body),
    })),
  };
}

it("reads what is written", () => {
  fc.assert(
    fc.property(body, (given) => {
      expect(withoutLines(parseCliSyntax(format(given), "rc"))).toEqual(withoutLines(given));
    }),
  );
});

it("reads or refuses any text", () => {
  const word = fc.constantFrom(
    "a",
    '"x"',
    "{",
    "}",
    "=",
    "[",
    "]",
    ",",
    "\n",
    "#",
    "/*",
    "*/",
    "1",
    "true",
    '"',
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(word, { maxLength: 40 }).map((words) => words.join(" ")),
  );
  fc.assert(
    fc.property(text, (given) => {
      try {
        parseCliSyntax(given, "rc");
      } catch (error) {
        expect(error).toBeInstanceOf(TfpluginError);
      }
    }),
  );
});
