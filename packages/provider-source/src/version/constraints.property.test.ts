import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VersionConstraints } from "./constraints.ts";
import { compareLikeTerraform } from "./precedence.ts";
import { Version } from "./version.ts";

const small = fc.integer({ min: 0, max: 2 });
const prerelease = fc.constantFrom("", "", "", "-alpha", "-alpha.1", "-beta", "-beta.2");
const metadata = fc.constantFrom("", "", "", "", "+a", "+b");
const operator = fc.constantFrom("", "=", "!=", ">", ">=", "<", "<=", "~>");
const space = fc.constantFrom("", " ");

interface Term {
  readonly operator: string;
  readonly numbers: readonly number[];
  readonly suffix: string;
  readonly text: string;
}

const term: fc.Arbitrary<Term> = fc
  .tuple(operator, space, fc.array(small, { minLength: 1, maxLength: 3 }), prerelease, metadata)
  .map(([op, gap, numbers, pre, meta]) => ({
    operator: op === "" ? "=" : op,
    numbers,
    suffix: pre + meta,
    text: `${op}${op === "" ? "" : gap}${numbers.join(".")}${pre}${meta}`,
  }));
const terms = fc.array(term, { minLength: 1, maxLength: 4 });

const universe: readonly Version[] = [0, 1, 2, 3].flatMap((major) =>
  [0, 1, 2, 3].flatMap((minor) =>
    [0, 1, 2, 3, 4, 5, 6].flatMap((patch) =>
      ["", "-alpha", "-alpha.1", "-beta", "-beta.2", "+a", "+b", "-beta+a"].map((suffix) =>
        Version.parse(`${major}.${minor}.${patch}${suffix}`),
      ),
    ),
  ),
);

/** What the documentation of the command says, written down without any cleverness. */
function naivelyAllows(all: readonly Term[], version: Version): boolean {
  if (version.toString() === "0.0.0") return false;
  let requested = false;
  for (const { operator: op, numbers, suffix } of all) {
    const [major = 0, minor = 0, patch = 0] = numbers;
    const boundary = Version.parse(`${major}.${minor}.${patch}${suffix}`);
    const order = compareLikeTerraform(version, boundary);
    const same = version.toString() === boundary.toString();
    if (op === "=") {
      if (!same) return false;
      requested = true;
    }
    if (op === "!=" && same) return false;
    if (op === ">" && !(order > 0)) return false;
    if (op === ">=" && !(order >= 0)) return false;
    if (op === "<" && !(order < 0)) return false;
    if (op === "<=" && !(order <= 0)) return false;
    if (op === "~>") {
      if (order < 0) return false;
      const next = numbers.length === 3 ? `${major}.${minor + 1}.0` : `${major + 1}.0.0`;
      if (compareLikeTerraform(version, Version.parse(next)) >= 0) return false;
    }
  }
  return version.prerelease === "" || requested;
}

const write = (all: readonly Term[]) => all.map(({ text }) => text).join(", ");
const timeout = 30_000 * Math.max(1, Number(process.env.STACKWRIGHT_RUNS ?? 1));
const runs = { numRuns: 200 * Number(process.env.STACKWRIGHT_RUNS ?? 1) };

describe("constraints", { timeout }, () => {
  it("allow what a naive reading of the rules allows", () => {
    fc.assert(
      fc.property(terms, (all) => {
        const constraints = VersionConstraints.parse(write(all));
        const wrong = universe.filter(
          (version) => constraints.allows(version) !== naivelyAllows(all, version),
        );
        expect(wrong.map(String)).toEqual([]);
      }),
      runs,
    );
  });

  it("mean the same when printed and read again, and print the same", () => {
    fc.assert(
      fc.property(terms, (all) => {
        const constraints = VersionConstraints.parse(write(all));
        const again = VersionConstraints.parse(constraints.toString());
        expect(again.toString()).toBe(constraints.toString());
        const wrong = universe.filter(
          (version) => again.allows(version) !== constraints.allows(version),
        );
        expect(wrong.map(String)).toEqual([]);
      }),
      runs,
    );
  });

  it("print the same in whatever order and how often they are written", () => {
    fc.assert(
      fc.property(terms, fc.infiniteStream(fc.nat()), (all, picks) => {
        const shuffled = [...all, ...all]
          .map((one) => ({ one, key: picks.next().value }))
          .sort((a, b) => a.key - b.key)
          .map(({ one }) => one);
        expect(VersionConstraints.parse(write(shuffled)).toString()).toBe(
          VersionConstraints.parse(write(all)).toString(),
        );
      }),
    );
  });

  it("allow in an intersection what both sides allow, as long as no pre-release is meant", () => {
    fc.assert(
      fc.property(terms, terms, (left, right) => {
        const a = VersionConstraints.parse(write(left));
        const b = VersionConstraints.parse(write(right));
        const both = VersionConstraints.intersection(a, b);
        const wrong = universe.filter((version) => {
          const expected = version.isPrerelease
            ? naivelyAllows([...left, ...right], version)
            : a.allows(version) && b.allows(version);
          return both.allows(version) !== expected;
        });
        expect(wrong.map(String)).toEqual([]);
        expect(both.equals(VersionConstraints.intersection(b, a))).toBe(true);
      }),
      runs,
    );
  });

  it("find the newest version that is allowed", () => {
    fc.assert(
      fc.property(terms, fc.shuffledSubarray([...universe]), (all, offered) => {
        const constraints = VersionConstraints.parse(write(all));
        const newest = constraints.newestMatching(offered);
        const allowed = offered.filter((version) => naivelyAllows(all, version));
        expect(newest === undefined).toBe(allowed.length === 0);
        if (newest === undefined) return;
        expect(allowed).toContain(newest);
        expect(allowed.filter((version) => compareLikeTerraform(version, newest) > 0)).toEqual([]);
      }),
    );
  });

  it("know the oldest version they allow, and contradict each other if there is none", () => {
    const candidates = universe.filter(({ metadata }) => metadata === "");
    fc.assert(
      fc.property(terms, (all) => {
        const constraints = VersionConstraints.parse(write(all));
        const oldest = constraints.oldestAllowed();
        const core = constraints.contradiction();
        expect(core === undefined).toBe(oldest !== undefined);
        if (oldest === undefined || core !== undefined) {
          expect(candidates.filter((version) => constraints.allows(version))).toEqual([]);
          for (const item of core ?? []) {
            const others = (core ?? []).filter((other) => other !== item);
            expect(VersionConstraints.of(...others).oldestAllowed()).toBeDefined();
          }
          return;
        }
        expect(constraints.allows(oldest)).toBe(true);
        if (oldest.isPrerelease || oldest.metadata !== "") return;
        const older = candidates.filter((version) => compareLikeTerraform(version, oldest) < 0);
        expect(older.filter((version) => constraints.allows(version))).toEqual([]);
      }),
      runs,
    );
  });
});
