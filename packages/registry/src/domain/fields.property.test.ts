import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isRegistryError } from "../errors.ts";
import { checkProviderName } from "./fields.ts";
import { checkFunctionUrn } from "./function-urn.ts";
import { formatMarker, parseMarker } from "./marker.ts";

/** The patterns as they are published. */
const NAME = /^[0-9a-z]([0-9a-z-]*[0-9a-z])*$/;
const URN =
  /^urn:fss:.+:[A-Za-z0-9]{3,64}:function:default:[A-Za-z][A-Za-z0-9_-]{0,58}[A-Za-z0-9]:([A-Za-z0-9][A-Za-z0-9_.-]{0,40}|![A-Za-z][A-Za-z0-9_-]{0,61})[A-Za-z0-9]$/;

function accepts(check: () => unknown): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (!isRegistryError(error)) throw error;
    return false;
  }
}

describe("names and URNs", () => {
  it("are taken exactly as the published pattern of names takes them", () => {
    const name = fc.oneof(
      fc.stringMatching(/^[0-9a-z-]{1,24}$/),
      fc.string({ minLength: 1, maxLength: 24 }),
    );
    fc.assert(
      fc.property(name, (text) => {
        expect(accepts(() => checkProviderName(text))).toBe(NAME.test(text));
      }),
    );
  });

  it("are taken as the published pattern takes URNs, of one region alone", () => {
    const part = fc.stringMatching(/^[A-Za-z0-9_.!:-]{0,12}$/);
    const region = fc.constantFrom("cn-north-7", "cn-north-4", "cn-north-7:x:cn-north-4", "");
    fc.assert(
      fc.property(region, part, part, part, (where, project, name, qualifier) => {
        const text = `urn:fss:${where}:a1${project}:function:default:f${name}:${qualifier}`;
        const taken = accepts(() => checkFunctionUrn(text, "cn-north-7"));
        const published = URN.test(text) && text.length >= 32 && text.length <= 256;
        const parts = text.split(":");
        expect(taken).toBe(published && parts.length === 8 && parts[2] === "cn-north-7");
      }),
    );
  });
});

describe("markers", () => {
  const key = Buffer.alloc(32, 7);

  it("lead back to where they were given, and nowhere after any change", () => {
    const position = fc.record({
      direction: fc.constantFrom("after", "before"),
      sequence: fc.bigInt({ min: 0n, max: 2n ** 48n }),
    });
    fc.assert(
      fc.property(position, fc.string(), fc.nat(), fc.nat(), (place, request, at, change) => {
        const marker = formatMarker(key, request, place, 1_000);
        expect(parseMarker(key, request, marker, 2_000)).toEqual(place);
        expect(accepts(() => parseMarker(key, `${request}x`, marker, 2_000))).toBe(false);
        const letters = marker.split("");
        const index = at % letters.length;
        const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=";
        letters[index] = alphabet[change % alphabet.length] ?? "A";
        const changed = letters.join("");
        if (changed === marker) return;
        expect(accepts(() => parseMarker(key, request, changed, 2_000))).toBe(false);
      }),
    );
  });
});
