import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProviderSourceError } from "../errors.ts";
import { compareLikeTerraform } from "./precedence.ts";
import { isStrictVersion, Version } from "./version.ts";

function problem(text: string): string {
  try {
    Version.parse(text);
  } catch (error) {
    if (ProviderSourceError.is(error, "PROVIDER_SOURCE_VERSION_INVALID")) return error.message;
    throw error;
  }
  throw new Error(`${text} was taken`);
}

const identifier = fc.stringMatching(/^[0-9A-Za-z-]{1,4}$/);
const identifiers = fc
  .array(identifier, { minLength: 1, maxLength: 3 })
  .map((all) => all.join("."));
const number = fc.oneof(fc.bigInt(0n, 3n), fc.bigInt(0n, 2n ** 64n - 1n));
const version = fc
  .tuple(number, number, number, fc.option(identifiers), fc.option(identifiers))
  .map(([a, b, c, pre, meta]) => new Version(a, b, c, pre ?? "", meta ?? ""));

describe("versions", () => {
  it("reads the parts and prints the canonical form", () => {
    const parsed = Version.parse("01.2-rc.1+build.5");
    expect(parsed).toMatchObject({
      major: 1n,
      minor: 2n,
      patch: 0n,
      prerelease: "rc.1",
      metadata: "build.5",
    });
    expect(parsed.toString()).toBe("1.2.0-rc.1+build.5");
    expect(JSON.stringify([parsed])).toBe('["1.2.0-rc.1+build.5"]');
    expect(Version.parse("18446744073709551615.0.0").major).toBe(2n ** 64n - 1n);
  });

  it.each([
    ["", "empty"],
    [" 1.0.0", "white space"],
    [">= 1.0.0", "operator"],
    ["v1.0.0", 'leave out the "v"'],
    ["1.0.0, 2.0.0", "only one version"],
    ["1.x", "wildcard"],
    ["1.2.3.4", "more than three numbers"],
    ["latest", "three numbers separated by dots"],
    ["1.0.0-", "three numbers separated by dots"],
    ["18446744073709551616.0.0", "larger than 64 bits"],
    [`${"9".repeat(100_000)}.0.0`, "larger than 64 bits"],
  ])("refuses %.30s and says why: %s", (text, hint) => {
    expect(problem(text)).toContain(hint);
  });

  it("has the precedence that the specification's examples have", () => {
    const ordered =
      "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 2.0.0 2.1.0 2.1.1 2.10.0".split(
        " ",
      );
    expect(ordered.toReversed().map(Version.parse).sort(Version.compare).map(String)).toEqual(
      ordered,
    );
    expect(Version.compare(Version.parse("1.0.0+a"), Version.parse("1.0.0+b"))).toBe(0);
    expect(Version.compareTotal(Version.parse("1.0.0+a"), Version.parse("1.0.0+b"))).toBeLessThan(
      0,
    );
  });

  it("knows proper semantic versions", () => {
    for (const text of ["0.0.0", "1.2.3-a.1+b", "1.0.0-0a", "1.0.0--", "1.0.0+01"]) {
      expect(isStrictVersion(text), text).toBe(true);
    }
    for (const text of [
      "1",
      "1.0",
      "01.0.0",
      "1.0.0-01",
      "1.0.0-a..b",
      "1.0.0+",
      "v1.0.0",
      "1.0.0\n",
    ]) {
      expect(isStrictVersion(text), text).toBe(false);
    }
  });

  it("are the same when printed and read again", () => {
    fc.assert(
      fc.property(version, (one) => {
        expect(Version.parse(one.toString())).toEqual(one);
      }),
    );
  });

  it.each([
    ["by the specification", Version.compareTotal],
    ["by the command", (a: Version, b: Version) => compareLikeTerraform(a, b)],
  ])("have a total order %s", (_, compare) => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(Math.sign(compare(a, b))).toBe(-Math.sign(compare(b, a)) + 0);
        if (compare(a, b) <= 0 && compare(b, c) <= 0) expect(compare(a, c)).toBeLessThanOrEqual(0);
        expect(compare(a, a)).toBe(0);
      }),
    );
  });
});
