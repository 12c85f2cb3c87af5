import { compareUtf8 } from "../order.ts";
import { VersionConstraint } from "./constraint.ts";
import { parseConstraintList } from "./constraint-parser.ts";
import { compareLikeTerraform } from "./precedence.ts";
import { Version } from "./version.ts";

/**
 * Constraints that must all hold; none allow every release. Immutable and always in canonical
 * form: sorted, without repetitions, so equal lists have equal texts.
 *
 * What they allow is what the command allows:
 *
 * - A pre-release is allowed only if a `=` names exactly it (build metadata included) and all the
 *   other constraints hold too. No range ever lets one in.
 * - The version 0.0.0 is never allowed, not even by `= 0.0.0`: the command takes it for "no
 *   version".
 */
export class VersionConstraints {
  /** In canonical order. */
  readonly items: readonly VersionConstraint[];

  private constructor(items: Iterable<VersionConstraint>) {
    const unique = new Map<string, VersionConstraint>();
    for (const item of items) unique.set(item.toString(), item);
    this.items = Object.freeze([...unique.values()].sort(VersionConstraint.compare));
    Object.freeze(this);
  }

  /** No constraint: every release is allowed. */
  static readonly any = new VersionConstraints([]);

  static of(...items: readonly VersionConstraint[]): VersionConstraints {
    return new VersionConstraints(items);
  }

  /** Allows exactly this version. */
  static exactly(version: Version): VersionConstraints {
    return new VersionConstraints([new VersionConstraint("=", version, "none")]);
  }

  /**
   * Reads the `version` argument of a provider requirement, such as `>= 1.2, < 2.0.0`. Throws
   * `PROVIDER_SOURCE_CONSTRAINT_INVALID` with the place of the part that is wrong.
   */
  static parse(this: void, text: string): VersionConstraints {
    return new VersionConstraints(parseConstraintList(text));
  }

  /** The constraints that allow what all of the given ones allow. */
  static intersection(...all: readonly VersionConstraints[]): VersionConstraints {
    return new VersionConstraints(all.flatMap((constraints) => constraints.items));
  }

  allows(version: Version): boolean {
    if (isZero(version) || !this.items.every((item) => item.holds(version))) return false;
    return (
      !version.isPrerelease ||
      this.items.some((item) => item.operator === "=" && item.boundary.equals(version))
    );
  }

  /**
   * The newest of the versions that are allowed, by the command's precedence; of several that
   * differ only in build metadata the one whose metadata sorts last. Undefined if there is none.
   */
  newestMatching(versions: Iterable<Version>): Version | undefined {
    let newest: Version | undefined;
    for (const version of versions) {
      if (!this.allows(version)) continue;
      const order =
        newest === undefined
          ? 1
          : compareLikeTerraform(version, newest) || compareUtf8(version.metadata, newest.metadata);
      if (order > 0) newest = version;
    }
    return newest;
  }

  /** The version, if the only constraint is a `=`; private providers need it (seed 003). */
  get exactVersion(): Version | undefined {
    const [first] = this.items;
    return this.items.length === 1 && first?.operator === "=" ? first.boundary : undefined;
  }

  /**
   * The oldest version that is allowed: a release without build metadata, or what a `=` names.
   * Undefined if the constraints contradict each other.
   */
  oldestAllowed(): Version | undefined {
    for (const item of this.items) {
      if (item.operator === "=") return this.allows(item.boundary) ? item.boundary : undefined;
    }
    // Above the highest lower bound there is always a further release, so exclusions can be skipped; if
    // the first release that is left breaks an upper bound, so do all later ones.
    let candidate = new Version(0n, 0n, 1n);
    for (const { operator, boundary } of this.items) {
      if (operator !== ">" && operator !== ">=" && operator !== "~>") continue;
      const { major, minor, patch } = boundary;
      const above = operator === ">" && !boundary.isPrerelease;
      const lowest = new Version(major, minor, above ? patch + 1n : patch);
      if (compareLikeTerraform(lowest, candidate) > 0) candidate = lowest;
    }
    const excluded = new Set(
      this.items.filter((item) => item.operator === "!=").map((item) => item.boundary.toString()),
    );
    while (excluded.has(candidate.toString())) {
      candidate = new Version(candidate.major, candidate.minor, candidate.patch + 1n);
    }
    return this.allows(candidate) ? candidate : undefined;
  }

  /**
   * Constraints that contradict each other, as few as suffice: without any one of them the others
   * allow something. Undefined if there is no contradiction. Versions that only exist with build
   * metadata are not considered.
   */
  contradiction(): readonly VersionConstraint[] | undefined {
    if (this.oldestAllowed() !== undefined) return undefined;
    let core = [...this.items];
    for (const item of this.items) {
      const without = core.filter((other) => other !== item);
      if (VersionConstraints.of(...without).oldestAllowed() === undefined) core = without;
    }
    return core;
  }

  equals(other: VersionConstraints): boolean {
    return this.toString() === other.toString();
  }

  /** The canonical form that lock files carry; empty for no constraint. */
  toString(): string {
    return this.items.join(", ");
  }

  toJSON(): string {
    return this.toString();
  }
}

function isZero(version: Version): boolean {
  return version.equals(ZERO);
}

const ZERO = new Version(0n, 0n, 0n);
