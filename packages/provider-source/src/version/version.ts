import { ProviderSourceError, quoteForMessage } from "../errors.ts";
import { compareUtf8 } from "../order.ts";
import { compareSemver } from "./precedence.ts";

const MAX_NUMBER = 2n ** 64n - 1n;

const VERSION =
  /^([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/;

/** SemVer 2.0.0: three numbers without leading zeros, no empty identifiers, no leading zeros in numeric ones. */
const STRICT =
  /^(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:-(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

function problemOf(text: string): string {
  if (text.trim() === "") return "it is empty";
  if (text !== text.trim()) return "there is white space around it";
  if (/^[<>=!~^]/.test(text)) {
    return "it starts with an operator of constraints, where one exact version is needed";
  }
  if (/^v[0-9]/i.test(text)) return 'leave out the "v" in front';
  if (/[,|]/.test(text)) return "only one version can be given";
  if (/[*xX]/.test(text.split(/[-+]/)[0] ?? "")) {
    return "it has a wildcard, where one exact version is needed";
  }
  if (/^[0-9]+(?:\.[0-9]+){3}/.test(text)) {
    return "it has more than three numbers; major, minor and patch are all there is";
  }
  return 'it must be three numbers separated by dots, as in "1.2.3", optionally followed by "-" and a pre-release, "+" and build metadata';
}

/**
 * A version of a provider: three numbers, a pre-release and build metadata. Immutable; its text is
 * canonical, so equal versions have equal texts.
 */
export class Version {
  /** At most 2^64-1, as are `minor` and `patch`. */
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  /** Without the dash; empty for a release. */
  readonly prerelease: string;
  /** Without the plus sign; empty if there is none. */
  readonly metadata: string;

  constructor(major: bigint, minor: bigint, patch: bigint, prerelease = "", metadata = "") {
    this.major = major;
    this.minor = minor;
    this.patch = patch;
    this.prerelease = prerelease;
    this.metadata = metadata;
    Object.freeze(this);
  }

  /**
   * Reads one exact version, as loosely as the command does: minor and patch may be missing and
   * count as zero, leading zeros are dropped. Throws `PROVIDER_SOURCE_VERSION_INVALID`. Ask
   * {@link isStrictVersion} first where only proper semantic versions are to be taken.
   */
  static parse(this: void, text: string): Version {
    const match = VERSION.exec(text);
    const [major, minor, patch] = [match?.[1], match?.[2] ?? "0", match?.[3] ?? "0"];
    if (major === undefined) {
      throw new ProviderSourceError(
        "PROVIDER_SOURCE_VERSION_INVALID",
        `Invalid version ${quoteForMessage(text)}: ${problemOf(text)}.`,
        { input: text },
      );
    }
    for (const number of [major, minor, patch]) {
      // The length is asked first, as converting very long numbers takes quadratic time.
      if (number.length > 40 || BigInt(number) > MAX_NUMBER) {
        throw new ProviderSourceError(
          "PROVIDER_SOURCE_VERSION_INVALID",
          `Invalid version ${quoteForMessage(text)}: a number is larger than 64 bits.`,
          { input: text },
        );
      }
    }
    return new Version(
      BigInt(major),
      BigInt(minor),
      BigInt(patch),
      match?.[4] ?? "",
      match?.[5] ?? "",
    );
  }

  /** Precedence by SemVer 2.0.0; zero for versions that differ only in build metadata. */
  static compare(this: void, a: Version, b: Version): number {
    return compareSemver(a, b);
  }

  /** A total order: precedence, then build metadata by code point. Zero only for equal versions. */
  static compareTotal(this: void, a: Version, b: Version): number {
    return compareSemver(a, b) || compareUtf8(a.metadata, b.metadata);
  }

  get isPrerelease(): boolean {
    return this.prerelease !== "";
  }

  /** Whether both are the same version, build metadata included. */
  equals(other: Version): boolean {
    return (
      this.major === other.major &&
      this.minor === other.minor &&
      this.patch === other.patch &&
      this.prerelease === other.prerelease &&
      this.metadata === other.metadata
    );
  }

  toString(): string {
    const prerelease = this.prerelease === "" ? "" : `-${this.prerelease}`;
    const metadata = this.metadata === "" ? "" : `+${this.metadata}`;
    return `${this.major}.${this.minor}.${this.patch}${prerelease}${metadata}`;
  }

  toJSON(): string {
    return this.toString();
  }
}

/** Whether a text is a semantic version in the strict sense of SemVer 2.0.0, in canonical form. */
export function isStrictVersion(text: string): boolean {
  return STRICT.test(text);
}
