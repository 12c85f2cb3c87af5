import { expect, test } from "vitest";
import type { DocumentSchema } from "./document.ts";
import { limitsText, membersOf, typeText } from "./type-text.ts";

const STYLE = { link: (name: string) => `<${name}>`, code: (text: string) => `\`${text}\`` };

test.each<[DocumentSchema, string]>([
  [{ type: "string" }, "string"],
  [{}, "any value"],
  [{ $ref: "#/components/schemas/Run" }, "<Run>"],
  [{ type: "array", items: { $ref: "#/components/schemas/Run" } }, "list of <Run>"],
  [{ type: "string", enum: ["plan", "apply"] }, '`"plan"`, `"apply"`'],
  [{ const: 1 }, "`1`"],
  [{ anyOf: [{ type: "string" }, { type: "null" }, { type: "string" }] }, "string or null"],
  [{ type: "object" }, "object"],
  [{ type: "object", additionalProperties: { type: "integer" } }, "map of integer"],
])("%j is written as %s", (schema, text) => {
  expect(typeText(schema, STYLE)).toBe(text);
});

test.each<[DocumentSchema, string]>([
  [{ minimum: 1, maximum: 200 }, "1 to 200"],
  [{ minimum: 0 }, "at least 0"],
  [{ maxLength: 1024 }, "at most 1,024 characters"],
  [{ minLength: 0 }, ""],
  [{ minLength: 64, maxLength: 64 }, "64 characters"],
  [{ minItems: 1 }, "at least 1 members"],
  [{ exclusiveMinimum: 0 }, "more than 0"],
  [{ pattern: "^a$", default: "a" }, '`^a$`, `"a"` without it'],
])("%j limits to %s", (schema, text) => {
  expect(limitsText(schema, STYLE)).toBe(text);
});

test("members of objects without a name of their own are listed with their paths", () => {
  const members = membersOf({
    required: ["runs"],
    properties: {
      runs: { type: "array", items: { required: ["id"], properties: { id: { type: "string" } } } },
      counts: { additionalProperties: { properties: { of: { type: "integer" } } } },
      newest: { $ref: "#/components/schemas/Run" },
    },
  });
  expect(members.map(({ path, isRequired }) => [path, isRequired])).toEqual([
    ["runs", true],
    ["runs[].id", true],
    ["counts", false],
    ["counts.*.of", false],
    ["newest", false],
  ]);
});
