import { createHash } from "node:crypto";
import { ProviderSourceError } from "../errors.ts";
import { ContentHash } from "../hash/content-hash.ts";
import { type PackageHash, zipHash } from "../hash/package-hash.ts";
import { type ArchiveSource, openArchiveFile } from "./archive-source.ts";
import { type ArchiveLimits, resolveArchiveLimits } from "./limits.ts";
import { readZipContent } from "./zip-content.ts";
import { readZipEntries } from "./zip-reader.ts";

const CHUNK_BYTES = 256 * 1024;

/** Both hashes of an archive. */
export interface ArchiveHashes {
  readonly h1: PackageHash;
  readonly zh: PackageHash;
}

/** The `zh:` hash: of the bytes of the archive, valid or not. Read in pieces of 256 KiB. */
export async function hashArchiveFile(
  archive: string | ArchiveSource,
  options: { readonly signal?: AbortSignal } = {},
): Promise<PackageHash> {
  if (typeof archive === "string") {
    await using source = await openArchiveFile(archive);
    return await hashArchiveFile(source, options);
  }
  const hash = createHash("sha256");
  for (let at = 0; at < archive.sizeBytes; at += CHUNK_BYTES) {
    options.signal?.throwIfAborted();
    hash.update(await archive.read(at, Math.min(CHUNK_BYTES, archive.sizeBytes - at), options));
  }
  return zipHash(hash.digest("hex"));
}

/**
 * The `h1:` and `zh:` hashes of a packed package, as the command computes them. The `h1:` hash is
 * that of the unpacked directory if the archive has no entries for directories; such entries count
 * as empty files with a slash at the end of their names, here and in the command.
 *
 * Paths and kinds of entries are not judged, as nothing is written; limits are kept. Throws
 * `PROVIDER_SOURCE_ARCHIVE_MALFORMED`, `..._UNSUPPORTED`, `..._LIMIT`, `..._DUPLICATE`, and
 * `PROVIDER_SOURCE_IO`. Memory does not grow with sizes.
 */
export async function hashArchive(
  archive: string | ArchiveSource,
  options: { readonly limits?: ArchiveLimits; readonly signal?: AbortSignal } = {},
): Promise<ArchiveHashes> {
  if (typeof archive === "string") {
    await using source = await openArchiveFile(archive);
    return await hashArchive(source, options);
  }
  const limits = resolveArchiveLimits(options.limits);
  const seen = new Set<string>();
  const hash = new ContentHash();
  for (const entry of await readZipEntries(archive, limits, options)) {
    const key = entry.name.toString("latin1");
    if (seen.has(key)) {
      throw new ProviderSourceError(
        "PROVIDER_SOURCE_ARCHIVE_DUPLICATE",
        `${archive.name} has two entries called ${JSON.stringify(entry.label)}.`,
        { entry: entry.label, other: entry.label },
      );
    }
    seen.add(key);
    const content = hash.open(entry.name);
    for await (const chunk of readZipContent(archive, entry, options)) content.write(chunk);
    content.close();
  }
  return { h1: hash.digest(), zh: await hashArchiveFile(archive, options) };
}
