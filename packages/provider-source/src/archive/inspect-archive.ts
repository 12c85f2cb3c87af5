import type { ArchiveSource } from "./archive-source.ts";
import { openArchiveFile } from "./archive-source.ts";
import { type ArchiveHashes, hashArchive } from "./hash-archive.ts";
import { type ArchiveLimits, resolveArchiveLimits } from "./limits.ts";
import { checkZipEntries } from "./unpack.ts";
import { readZipEntries } from "./zip-reader.ts";

/** A file in an archive. */
export interface InspectedEntry {
  /** With slashes, relative to the root. */
  readonly path: string;
  readonly sizeBytes: number;
  /** Permission bits; undefined if the archive does not say, as those made on Windows. */
  readonly mode: number | undefined;
}

/** What is in an archive that {@link inspectArchive} found in order. */
export interface InspectedArchive extends ArchiveHashes {
  readonly entries: readonly InspectedEntry[];
}

/**
 * Judges an archive as `unpackArchive` does, entry by entry and byte by byte, without writing anything:
 * what passes here can be unpacked. For whoever keeps archives of others.
 *
 * Throws `PROVIDER_SOURCE_ARCHIVE_*`, `PROVIDER_SOURCE_IO`, or the reason of `signal`.
 */
export async function inspectArchive(
  archive: string | ArchiveSource,
  options: { readonly limits?: ArchiveLimits; readonly signal?: AbortSignal } = {},
): Promise<InspectedArchive> {
  if (typeof archive === "string") {
    await using source = await openArchiveFile(archive);
    return await inspectArchive(source, options);
  }
  const limits = resolveArchiveLimits(options.limits);
  const checked = checkZipEntries(await readZipEntries(archive, limits, options), limits);
  const hashes = await hashArchive(archive, options);
  const entries = checked
    .filter(({ isDirectory }) => !isDirectory)
    .map(({ entry, path }) => ({
      path,
      sizeBytes: entry.size,
      mode: entry.unixMode === 0 ? undefined : entry.unixMode & 0o777,
    }));
  return { ...hashes, entries };
}
