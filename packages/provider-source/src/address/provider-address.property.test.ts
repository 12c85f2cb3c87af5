import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProviderSourceError } from "../errors.ts";
import { compareUtf8 } from "../order.ts";
import { ProviderAddress } from "./provider-address.ts";

/** Cheaper than fast-check's own unit of all characters, which takes seconds to set up. */
const anyCharacter = fc
  .oneof(fc.integer({ max: 0x250, min: 0 }), fc.integer({ max: 0x10ffff, min: 0 }))
  .map((code) => String.fromCodePoint(code))
  .filter((text) => text.isWellFormed());

const label = fc.stringMatching(/^[a-zA-Z0-9]([a-zA-Z0-9-]{0,8}[a-zA-Z0-9])?$/);
const name = label.filter((text) => !text.includes("--") && !/^terraform-/i.test(text));
const host = fc
  .tuple(fc.array(label, { minLength: 1, maxLength: 3 }), fc.option(fc.nat(65_535)))
  .map(([labels, port]) => labels.join(".") + (port === null ? "" : `:${port}`));
const source = fc
  .tuple(fc.option(host), name, name)
  .map((parts) => parts.filter((part) => part !== null).join("/"));

function parse(text: string): ProviderAddress | undefined {
  try {
    return ProviderAddress.parse(text);
  } catch (error) {
    if (ProviderSourceError.is(error, "PROVIDER_SOURCE_ADDRESS_INVALID")) return undefined;
    throw error;
  }
}

describe("source addresses", () => {
  it("are the same when their canonical form is read again", () => {
    const anything = fc.oneof(
      source,
      fc.string({ unit: anyCharacter, maxLength: 20 }),
      fc
        .array(fc.string({ unit: "grapheme", maxLength: 6 }), { maxLength: 4 })
        .map((p) => p.join("/")),
    );
    fc.assert(
      fc.property(anything, (text) => {
        const address = parse(text);
        if (address === undefined) return;
        const again = ProviderAddress.parse(address.toString());
        expect(again).toEqual(address);
        expect(again.toString()).toBe(address.toString());
        expect(ProviderAddress.parse(address.toDisplay())).toEqual(address);
      }),
      { numRuns: 1000 * Number(process.env.STACKWRIGHT_RUNS ?? 1) },
    );
  });

  it("do not depend on letter case", () => {
    fc.assert(
      fc.property(source, (text) => {
        const lower = parse(text.toLowerCase())?.toString();
        expect(parse(text)?.toString()).toBe(lower);
        expect(parse(text.toUpperCase())?.toString()).toBe(lower);
      }),
    );
  });

  it("are suggested so that the suggestion is good", () => {
    fc.assert(
      fc.property(name, name, (namespace, type) => {
        try {
          ProviderAddress.parse(`${namespace}/terraform-provider-${type}`);
          expect.unreachable();
        } catch (error) {
          if (!ProviderSourceError.is(error, "PROVIDER_SOURCE_ADDRESS_INVALID")) throw error;
          const meant = ProviderAddress.parse(error.details.suggestion ?? "");
          expect(meant.type).toBe(type.toLowerCase());
        }
      }),
    );
  });
});

describe("compareUtf8", () => {
  it("orders as the bytes of UTF-8 do", () => {
    const text = fc.string({ unit: anyCharacter });
    fc.assert(
      fc.property(text, text, (a, b) => {
        const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b));
        expect(Math.sign(compareUtf8(a, b))).toBe(bytes);
      }),
    );
    expect(compareUtf8("\uffff", "\u{10000}")).toBeLessThan(0);
  });
});
