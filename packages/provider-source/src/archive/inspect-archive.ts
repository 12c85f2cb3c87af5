import { ContentHash } from "../hash/content-hash.ts";
import type { PackageHash } from "../hash/package-hash.ts";
import type { ArchiveSource } from "./archive-source.ts";
import { openArchiveFile } from "./archive-source.ts";
import { type ArchiveLimits, resolveArchiveLimits } from "./limits.ts";
import { checkZipEntries } from "./unpack.ts";
import { readZipContent } from "./zip-content.ts";
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
export interface InspectedArchive {
  /** The hash of its content, as `hashArchive` has it. */
  readonly h1: PackageHash;
  readonly entries: readonly InspectedEntry[];
}

/**
 * Judges an archive as `unpackArchive` does, entry by entry and byte by byte, without writing anything:
 * what passes here can be unpacked. For programs that store archives of others. Everything is read once, and
 * memory does not grow with sizes.
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
  const hash = new ContentHash();
  for (const { entry } of checked) {
    const content = hash.open(entry.name);
    for await (const chunk of readZipContent(archive, entry, options)) content.write(chunk);
    content.close();
  }
  const entries = checked
    .filter(({ isDirectory }) => !isDirectory)
    .map(({ entry, path }) => ({
      path,
      sizeBytes: entry.size,
      mode: entry.unixMode === 0 ? undefined : entry.unixMode & 0o777,
    }));
  return { h1: hash.digest(), entries };
}
