import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseBody } from "./request-body.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("request bodies", () => {
  it("are read as JSON.parse reads them", () => {
    const value = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }));
    fc.assert(
      fc.property(value, fc.nat(3), (body, indent) => {
        const text = JSON.stringify(body, undefined, indent);
        expect(parseBody(bytes(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it("are refused when any object in them has a key twice, however it is spelled", () => {
    const escaped = (text: string): string =>
      `"${text
        .split("")
        .map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`)
        .join("")}"`;
    const key = fc.stringMatching(/^[a-z"\\ {}:,]{1,8}$/);
    fc.assert(
      fc.property(key, fc.boolean(), fc.constantFrom("", " ", "\n\t"), (name, nested, space) => {
        const twice = `{${JSON.stringify(name)}${space}:1,${escaped(name)}${space}: 2}`;
        const text = nested ? `{"a":[{"b":${twice}}]}` : twice;
        expect(() => parseBody(bytes(text))).toThrow(/twice/);
      }),
    );
  });

  it("never fail with anything but a refusal", () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.string().map(bytes)), (body) => {
        try {
          parseBody(body);
        } catch (error) {
          expect(error).toMatchObject({ code: "REGISTRY_INVALID_FIELD" });
        }
      }),
    );
  });
});
