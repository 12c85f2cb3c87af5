import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJsonObject } from "./json.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("JSON objects at random", () => {
  it("are read as JSON.parse reads them", () => {
    const value = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }));
    fc.assert(
      fc.property(value, fc.nat(3), (body, indent) => {
        const text = JSON.stringify(body, undefined, indent);
        expect(readJsonObject(bytes(text)).object).toEqual(JSON.parse(text));
      }),
    );
  });

  it("are refused with a name twice, however it is spelled and spaced", () => {
    const escaped = (text: string): string =>
      `"${text
        .split("")
        .map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`)
        .join("")}"`;
    const name = fc.stringMatching(/^[a-z"\\ {}:,[\]]{1,8}$/);
    const space = fc.constantFrom("", " ", "\n\t");
    fc.assert(
      fc.property(name, fc.boolean(), space, (key, nested, gap) => {
        const twice = `{${JSON.stringify(key)}${gap}:1,${gap}${escaped(key)}${gap}: 2}`;
        const text = nested ? `{"a":[{"b":${twice}}]}` : twice;
        expect(readJsonObject(bytes(text)).problem).toEqual({ kind: "duplicate-name", name: key });
      }),
    );
  });

  it("never make the reader throw", () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.string().map(bytes)), (body) => {
        const result = readJsonObject(body);
        expect((result.object === undefined) !== (result.problem === undefined)).toBe(true);
      }),
    );
  });
});
