import { compareUtf8 } from "../order.ts";
import { compareLikeTerraform, comparePrereleasesLikeTerraform } from "./precedence.ts";
import { Version } from "./version.ts";

/** The operators of constraints. */
export type ConstraintOperator = "=" | "!=" | ">" | ">=" | "<" | "<=" | "~>";

/**
 * One comparison with a boundary version. Immutable.
 *
 * Build metadata of the boundary counts for `=` and `!=` only: `= 1.0.0` does not allow `1.0.0+a`.
 */
export class VersionConstraint {
  readonly operator: ConstraintOperator;
  /** Numbers that were left out are zero. */
  readonly boundary: Version;
  /**
   * For `~>` which number may rise: `patch` for a boundary of three numbers, else `minor`.
   * `none` for all other operators.
   */
  readonly rises: "none" | "minor" | "patch";

  constructor(operator: ConstraintOperator, boundary: Version, rises: "none" | "minor" | "patch") {
    this.operator = operator;
    this.boundary = boundary;
    this.rises = rises;
    Object.freeze(this);
  }

  /** The first version above what `~>` allows. */
  get #ceiling(): Version {
    const { major, minor } = this.boundary;
    return this.rises === "patch"
      ? new Version(major, minor + 1n, 0n)
      : new Version(major + 1n, 0n, 0n);
  }

  /**
   * Whether the version stands in this relation to the boundary, by the command's precedence. The
   * rule for pre-releases is not applied here, as it is about all constraints together.
   */
  holds(version: Version): boolean {
    const order = compareLikeTerraform(version, this.boundary);
    switch (this.operator) {
      case "=":
        return version.equals(this.boundary);
      case "!=":
        return !version.equals(this.boundary);
      case ">":
        return order > 0;
      case ">=":
        return order >= 0;
      case "<":
        return order < 0;
      case "<=":
        return order <= 0;
      case "~>":
        return order >= 0 && compareLikeTerraform(version, this.#ceiling) < 0;
      default: {
        const never: never = this.operator;
        return never;
      }
    }
  }

  /** The canonical form: three numbers, two for a `~>` whose minor number may rise; no `=`. */
  toString(): string {
    const { major, minor, prerelease, metadata } = this.boundary;
    const version =
      this.rises === "minor"
        ? `${major}.${minor}` +
          (prerelease === "" ? "" : `-${prerelease}`) +
          (metadata === "" ? "" : `+${metadata}`)
        : this.boundary.toString();
    return this.operator === "=" ? version : `${this.operator} ${version}`;
  }

  /** The order of canonical forms: by boundary, then lower bounds before upper ones, `!=` last. */
  static compare(this: void, a: VersionConstraint, b: VersionConstraint): number {
    return (
      compareLikeTerraform(a.boundary, b.boundary) ||
      comparePrereleasesLikeTerraform(a.boundary.metadata, b.boundary.metadata) ||
      rank(a) - rank(b) ||
      compareUtf8(a.toString(), b.toString())
    );
  }
}

const RANKS = { ">": 1, ">=": 2, "=": 3, "~>": 4, "<=": 6, "<": 7, "!=": 8 } as const;

function rank(constraint: VersionConstraint): number {
  return RANKS[constraint.operator] + (constraint.rises === "minor" ? 1 : 0);
}
