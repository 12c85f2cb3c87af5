import type { PublicAddress } from "./public-address.ts";

/** A manifest of npm, as far as nothing else is known of it. */
export type PackageManifest = Readonly<Record<string, unknown>>;

/**
 * A manifest with the public address of the project. The registry compares the repository with the one that a package was built in
 * before it shows where that was.
 *
 * @param folder of the package in the repository
 */
export function completeManifest(
  manifest: PackageManifest,
  folder: string,
  { repository, homepage, bugs }: PublicAddress,
): PackageManifest {
  return {
    ...manifest,
    homepage,
    repository: { type: "git", url: `git+${repository}`, directory: folder },
    bugs: { url: bugs },
  };
}
