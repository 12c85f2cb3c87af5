import { compareUtf8 } from "../order.ts";

/** What precedence is decided by; build metadata never takes part. */
interface Precedence {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  readonly prerelease: string;
}

const NUMERIC = /^[0-9]+$/;

function compareNumbers(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Numeric identifiers before others; among numeric ones by `numeric`, among others by text. */
function compareIdentifiers(
  a: string,
  b: string,
  numeric: (a: string, b: string) => number,
): number {
  const aNumeric = NUMERIC.test(a);
  const bNumeric = NUMERIC.test(b);
  if (aNumeric !== bNumeric) return aNumeric ? -1 : 1;
  return aNumeric ? numeric(a, b) : compareUtf8(a, b);
}

function compareBy(
  a: Precedence,
  b: Precedence,
  prerelease: (a: string, b: string) => number,
): number {
  const core =
    compareNumbers(a.major, b.major) ||
    compareNumbers(a.minor, b.minor) ||
    compareNumbers(a.patch, b.patch);
  if (core !== 0 || a.prerelease === b.prerelease) return core;
  if (a.prerelease === "") return 1;
  if (b.prerelease === "") return -1;
  return prerelease(a.prerelease, b.prerelease);
}

/**
 * Precedence of semantic versions as their specification has it (section 11 of SemVer 2.0.0):
 * identifiers of pre-releases are compared one by one, and a longer list wins over its own prefix.
 * Zero means equal precedence; versions that differ only in build metadata have it.
 */
export function compareSemver(a: Precedence, b: Precedence): number {
  return compareBy(a, b, (x, y) => {
    const xs = x.split(".");
    const ys = y.split(".");
    for (let i = 0; i < Math.min(xs.length, ys.length); i++) {
      const order = compareIdentifiers(xs[i] ?? "", ys[i] ?? "", (p, q) =>
        compareNumbers(BigInt(p), BigInt(q)),
      );
      if (order !== 0) return order;
    }
    return xs.length - ys.length || compareUtf8(x, y);
  });
}

/**
 * Precedence as the command has it, which decides what its constraints match and how its lock
 * files are sorted. It differs from {@link compareSemver} for pre-releases only: before two
 * identifiers are compared, the list that ends there precedes the one that continues, regardless of the
 * identifiers, so that "beta" precedes "alpha.1". Numeric identifiers are compared by length
 * first, so that "2" precedes "01".
 */
export function compareLikeTerraform(a: Precedence, b: Precedence): number {
  return compareBy(a, b, comparePrereleasesLikeTerraform);
}

/** The command's order of dot-separated identifiers, which it also uses to sort build metadata. */
export function comparePrereleasesLikeTerraform(x: string, y: string): number {
  const xs = x.split(".");
  const ys = y.split(".");
  for (let i = 0; ; i++) {
    const xLast = i === xs.length - 1;
    const yLast = i === ys.length - 1;
    if (xLast !== yLast) return xLast ? -1 : 1;
    const order = compareIdentifiers(
      xs[i] ?? "",
      ys[i] ?? "",
      (p, q) => p.length - q.length || compareUtf8(p, q),
    );
    if (order !== 0 || xLast) return order;
  }
}
