import { describe, expect, it } from "vitest";
import { ProviderAddress } from "../address/provider-address.ts";
import { ProviderSourceError } from "../errors.ts";
import type { ConstraintAnswer } from "../testing/oracle/ask-constraints.ts";
import { readAnswers } from "../testing/oracle/fixtures.ts";
import { STRICTER_QUESTIONS } from "../testing/oracle/inputs.ts";
import { VersionConstraints } from "./constraints.ts";
import { requireExactVersion } from "./exact-version.ts";
import { Version } from "./version.ts";

const recorded = await readAnswers();

function answer(version: string, constraint: string | null): ConstraintAnswer {
  try {
    const constraints =
      constraint === null ? VersionConstraints.any : VersionConstraints.parse(constraint);
    const outcome = constraints.allows(Version.parse(version)) ? "allowed" : "refused";
    return { version, constraint, outcome, canonical: constraints.toString() };
  } catch (error) {
    if (!ProviderSourceError.is(error, "PROVIDER_SOURCE_CONSTRAINT_INVALID")) throw error;
    return { version, constraint, outcome: "invalid", canonical: null };
  }
}

function refusal(text: string) {
  try {
    VersionConstraints.parse(text);
  } catch (error) {
    if (ProviderSourceError.is(error, "PROVIDER_SOURCE_CONSTRAINT_INVALID")) return error;
    throw error;
  }
  throw new Error(`${text} was taken`);
}

const isStricter = ({ version, constraint }: ConstraintAnswer) =>
  STRICTER_QUESTIONS.some(
    (question) => question.version === version && question.constraint === constraint,
  );

describe("constraints against the command's recorded answers", () => {
  const comparable = recorded.constraints.filter((one) => !isStricter(one));
  const texts = [...new Set(comparable.map(({ constraint }) => constraint))];

  it("has answers of all three kinds", () => {
    const count = (outcome: string) => comparable.filter((one) => one.outcome === outcome).length;
    expect(count("allowed")).toBeGreaterThan(200);
    expect(count("refused")).toBeGreaterThan(300);
    expect(count("invalid")).toBeGreaterThan(30);
  });

  it.each(texts)("answers %j as the command does", (text) => {
    const theirs = comparable.filter(({ constraint }) => constraint === text);
    expect(theirs.map(({ version }) => answer(version, text))).toEqual(theirs);
  });

  it.each(STRICTER_QUESTIONS)(
    "refuses $constraint, which the command takes",
    ({ version, constraint }) => {
      expect(recorded.constraints.find(isStricter)?.outcome).toBe("allowed");
      expect(answer(version, constraint).outcome).toBe("invalid");
    },
  );
});

describe("constraints", () => {
  it("select the newest version that is allowed", () => {
    const versions = ["1.0.0", "1.9.0", "1.10.0", "1.11.0-rc1", "2.0.0"].map(Version.parse);
    const newest = (text: string) =>
      VersionConstraints.parse(text).newestMatching(versions)?.toString();
    expect(newest("~> 1.0")).toBe("1.10.0");
    expect(newest(">= 1.0, != 1.10.0, < 2")).toBe("1.9.0");
    expect(newest("1.11.0-rc1")).toBe("1.11.0-rc1");
    expect(newest("> 2.0.0")).toBeUndefined();
    expect(VersionConstraints.any.newestMatching(versions)?.toString()).toBe("2.0.0");
  });

  it("prefer the last build metadata whatever the order of versions", () => {
    const versions = ["1.0.0+b", "1.0.0+c", "1.0.0", "1.0.0+a"].map(Version.parse);
    for (const order of [versions, versions.toReversed()]) {
      expect(VersionConstraints.parse(">= 1").newestMatching(order)?.toString()).toBe("1.0.0+c");
    }
  });

  it("intersect to the canonical form of all", () => {
    const all = VersionConstraints.intersection(
      VersionConstraints.parse("< 3, >= 1.0"),
      VersionConstraints.any,
      VersionConstraints.parse(">=1.0.0, ~> 2.1"),
    );
    expect(all.toString()).toBe(">= 1.0.0, ~> 2.1, < 3.0.0");
    expect(all.equals(VersionConstraints.parse("~> 2.1, < 3.0.0, >= 1"))).toBe(true);
  });

  it("name those that contradict each other", () => {
    const contradiction = (text: string) =>
      VersionConstraints.parse(text).contradiction()?.map(String);
    expect(contradiction(">= 1.0.0, < 2.0.0, != 1.5.0")).toBeUndefined();
    expect(contradiction(">= 1.0.0, < 2.0.0, != 1.5.0, ~> 3.1")).toEqual(["< 2.0.0", "~> 3.1"]);
    expect(contradiction("1.0.0, 2.0.0, >= 0.1.0")).toEqual(["1.0.0", "2.0.0"]);
    expect(contradiction(">= 1.0.0, <= 1.0.0, != 1.0.0, > 0.1.0")).toEqual([
      ">= 1.0.0",
      "<= 1.0.0",
      "!= 1.0.0",
    ]);
    expect(contradiction("> 1.0.0, < 1.0.1")).toEqual(["> 1.0.0", "< 1.0.1"]);
  });

  it.each([
    ["", "nothing between or beside the commas", 0],
    [">= 1.0,, < 2", "nothing between or beside the commas", 7],
    [">= 1.0, => 2", 'did you mean ">="?', 8],
    ["=< 1", 'did you mean "<="?', 0],
    ["^1.2", '"~> 1.2" allows', 0],
    ["== 1", 'write "="', 0],
    [">=  1", "at most one space", 0],
    [">= v1", 'leave out the "v"', 0],
    ["1.2.3.4", "more than three numbers", 0],
    ["1.x", "wildcards", 0],
    ["*", "wildcards", 0],
    [">= 1 < 2", "separated by commas", 0],
    ["1 || 2", "alternatives", 0],
    ["1.0 - 2.0", "ranges are written as", 0],
    ["< 1, >", "the version behind the operator is missing", 5],
    ["9223372036854775808", "larger than 63 bits", 0],
    ["latest", "optional operator", 0],
  ])("refuses %j and says why: %s, at %i", (text, hint, offset) => {
    const error = refusal(text);
    expect(error.message).toContain(hint);
    expect(error.details.offset).toBe(offset);
  });
});

describe("the version of a private provider", () => {
  const address = ProviderAddress.parse("huawei.com/private-provider/x");

  it("is exact, with or without the operator", () => {
    expect(requireExactVersion(address, "1.0.0").toString()).toBe("1.0.0");
    expect(requireExactVersion(address, "= 1.0.0-rc1").toString()).toBe("1.0.0-rc1");
    expect(requireExactVersion(address, "0.0.0").toString()).toBe("0.0.0");
  });

  it.each([undefined, ">= 1.0.0", "~> 1.0", "1.0.0, 2.0.0", "!= 1.0.0"])("is not %j", (text) => {
    expect(() => requireExactVersion(address, text)).toThrow(
      expect.objectContaining({ code: "PROVIDER_SOURCE_EXACT_VERSION_REQUIRED" }),
    );
  });

  it("is reported as no constraint at all where it is none", () => {
    expect(() => requireExactVersion(address, "latest")).toThrow(
      expect.objectContaining({ code: "PROVIDER_SOURCE_CONSTRAINT_INVALID" }),
    );
  });
});
