import type { ArchiveSource } from "./archive-source.ts";
import { type ArchiveLimits, resolveArchiveLimits } from "./limits.ts";
import { checkZipEntries } from "./unpack.ts";
import { readZipContent } from "./zip-content.ts";
import { readZipEntries } from "./zip-reader.ts";

/**
 * The files of a small archive by path, held in memory: the limits bound it. Entries are judged as `unpackArchive` judges them, all of
 * them before anything is unpacked.
 *
 * Throws `PROVIDER_SOURCE_ARCHIVE_*`, or the reason of `signal`.
 */
export async function readArchive(
  archive: ArchiveSource,
  options: { readonly limits: ArchiveLimits; readonly signal?: AbortSignal },
): Promise<ReadonlyMap<string, Uint8Array>> {
  const limits = resolveArchiveLimits(options.limits);
  const checked = checkZipEntries(await readZipEntries(archive, limits, options), limits);
  const files = new Map<string, Uint8Array>();
  for (const { entry, path, isDirectory } of checked) {
    if (isDirectory) continue;
    const chunks: Uint8Array[] = [];
    for await (const chunk of readZipContent(archive, entry, options)) chunks.push(chunk);
    files.set(path, Buffer.concat(chunks));
  }
  return files;
}
