import { hashDirectory } from "../hash/hash-directory.ts";
import { hashScheme, isSupportedHash, type PackageHash } from "../hash/package-hash.ts";
import { type ArchiveSource } from "./archive-source.ts";
import { hashArchive, hashArchiveFile } from "./hash-archive.ts";
import type { ArchiveLimits } from "./limits.ts";

/** A package on disk, or an archive of one. */
export type PackageLocation =
  | { readonly kind: "directory"; readonly path: string }
  | { readonly kind: "archive"; readonly archive: string | ArchiveSource };

/**
 * Whether a package has one of the given hashes. `zh:` hashes can only be had by archives and never
 * match a directory; hashes of other schemes than `h1` and `zh` match nothing. Only what is needed
 * is computed. Throws what {@link hashDirectory} and {@link hashArchive} throw.
 */
export async function packageHasAnyHash(
  location: PackageLocation,
  hashes: Iterable<PackageHash>,
  options: { readonly limits?: ArchiveLimits; readonly signal?: AbortSignal } = {},
): Promise<boolean> {
  const wanted = new Set([...hashes].filter(isSupportedHash));
  const schemes = new Set([...wanted].map(hashScheme));
  if (location.kind === "directory") {
    return schemes.has("h1") && wanted.has(await hashDirectory(location.path, options));
  }
  if (schemes.has("zh") && wanted.has(await hashArchiveFile(location.archive, options)))
    return true;
  return schemes.has("h1") && wanted.has((await hashArchive(location.archive, options)).h1);
}
