import { isStrictVersion, Platform } from "@stackwright/provider-source";
import { CommandError } from "../command-error.ts";
import { printable } from "../terminal/printable.ts";

/** A script runs on all of these; a binary on one. */
const SCRIPT_PLATFORMS = ["darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"];

/** The version of what is published; `CommandError` where there is none, or no valid one. */
export function releaseVersion(version: string | undefined): string {
  if (version !== undefined && isStrictVersion(version)) return version;
  throw new CommandError(
    version === undefined
      ? "The provider has no version."
      : `"${printable(version)}" is not a version.`,
    { advice: "Write one such as 1.2.0 into package.json, or name it with --version." },
  );
}

/** What a program is released for: the platforms that were named, else where it runs. */
export function releasePlatforms(named: readonly string[], isScript: boolean): readonly Platform[] {
  if (named.length === 0 && !isScript) return [Platform.ofNode()];
  return (named.length === 0 ? SCRIPT_PLATFORMS : named).map((text) => {
    try {
      return Platform.parse(text);
    } catch (error) {
      throw new CommandError(`"${printable(text)}" is not a platform.`, {
        cause: error,
        advice: "A platform is an operating system and an architecture, such as linux_amd64.",
      });
    }
  });
}
