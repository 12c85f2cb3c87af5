import { decodeJson, Type } from "@stackwright/cty";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonElements, jsonMembers } from "./json-members.ts";
import { pruneJson } from "./prune-json.ts";

/** JSON text with white space wherever it may stand. */
function spaced(value: unknown, space: string): string {
  if (Array.isArray(value)) {
    const elements = value.map((element) => `${space}${spaced(element, space)}${space}`);
    return `[${elements.join(",") || space}]`;
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(
      ([name, member]) =>
        `${space}${JSON.stringify(name)}${space}:${space}${spaced(member, space)}`,
    );
    return `{${members.join(`${space},`) || space}${space}}`;
  }
  return JSON.stringify(value);
}

const space = fc.constantFrom("", " ", "\n\t", "\r\n  ");

describe("jsonMembers and jsonElements", () => {
  it("take JSON apart as the parser does", () => {
    fc.assert(
      fc.property(fc.jsonValue(), space, (value, white) => {
        const text = `${white}${spaced(value, white)}${white}`;
        if (Array.isArray(value)) {
          expect(jsonElements(text).map((part): unknown => JSON.parse(part))).toEqual(
            JSON.parse(text),
          );
        } else if (typeof value === "object" && value !== null) {
          const members = [...jsonMembers(text)].map(([name, part]) => [name, JSON.parse(part)]);
          // Defined one by one, since a member may be named __proto__.
          const parsed = Object.entries(JSON.parse(text) as object);
          expect(new Map(members as [string, unknown][])).toEqual(new Map(parsed));
        }
      }),
    );
  });
});

describe("pruneJson", () => {
  const type = Type.object({
    a: Type.number,
    list: Type.list(Type.object({ b: Type.string })),
    map: Type.map(Type.list(Type.object({ c: Type.bool }))),
    any: Type.dynamic,
  });
  const known = {
    a: "12345678901234567890123.5",
    list: '[{"b":"x"},null]',
    map: '{"k":[{"c":true}]}',
    any: '{"value":{"z":1},"type":["object",{"z":"number"}]}',
  };
  const plain = `{"a":${known.a},"list":${known.list},"map":${known.map},"any":${known.any}}`;

  it("leaves out what the type does not have, and nothing else", () => {
    const extra = fc.tuple(
      fc.string().filter((name) => !type.has(name)),
      fc.json(),
    );
    fc.assert(
      fc.property(fc.array(extra, { maxLength: 3 }), space, (extras, white) => {
        const added = extras.map(
          ([name, json]) => `${JSON.stringify(name)}:${white}${json},${white}`,
        );
        const more = added.join("");
        const inner = more.replaceAll(/"(?:b|c)":/gu, '"other":');
        const text = `{${more}"a":${known.a},"list":[{${inner}"b":"x"},null],"map":{"k":[{${inner}"c":true}]},"any":${known.any}}`;
        const pruned = decodeJson(pruneJson(text, type), type);
        expect(pruned.rawEquals(decodeJson(plain, type))).toBe(true);
      }),
    );
  });

  it("leaves to the reader what is not of the shape of the type", () => {
    expect(pruneJson('{"list": 1, "map": [], "a": {}}', type)).toBe('{"list":1,"map":[],"a":{}}');
    expect(() => pruneJson("{", type)).toThrow(SyntaxError);
  });
});
