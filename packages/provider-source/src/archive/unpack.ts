import { randomBytes } from "node:crypto";
import { chmod, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { ProviderSourceError } from "../errors.ts";
import { ContentHash } from "../hash/content-hash.ts";
import { hashScheme, isSupportedHash, type PackageHash } from "../hash/package-hash.ts";
import { type ArchiveSource, openArchiveFile } from "./archive-source.ts";
import { checkEntryPath, EntryPaths } from "./entry-path.ts";
import { hashArchiveFile } from "./hash-archive.ts";
import { type ArchiveLimits, type ResolvedArchiveLimits, resolveArchiveLimits } from "./limits.ts";
import { readZipContent } from "./zip-content.ts";
import { type ReadOptions, readZipEntries, type ZipEntry } from "./zip-reader.ts";
import { MODE_DIRECTORY, MODE_REGULAR, MODE_TYPE_MASK } from "./zip-records.ts";

/** How to unpack. */
export interface UnpackOptions {
  readonly limits?: ArchiveLimits;
  /**
   * Hashes of which the archive must match one, of scheme `h1` or `zh`; those of other schemes do
   * not count. Without any that counts nothing is checked.
   */
  readonly expectedHashes?: Iterable<PackageHash>;
  readonly signal?: AbortSignal;
}

/** What was unpacked. */
export interface UnpackSummary {
  readonly files: number;
  readonly totalBytes: number;
  /** The hash of the directory that now exists. */
  readonly h1: PackageHash;
}

interface SafeEntry {
  readonly entry: ZipEntry;
  readonly path: string;
  readonly isDirectory: boolean;
}

/**
 * Checks all entries before anything is written. Throws `..._PATH_UNSAFE`, `..._DUPLICATE`, or
 * `..._ENTRY_REFUSED` for symbolic links and all else that is neither file nor directory.
 */
export function checkZipEntries(
  entries: readonly ZipEntry[],
  limits: ResolvedArchiveLimits,
): SafeEntry[] {
  const paths = new EntryPaths();
  return entries.map((entry) => {
    const { path, isDirectory } = checkEntryPath(entry.name, limits);
    const type = entry.unixMode & MODE_TYPE_MASK;
    if (type !== 0 && type !== (isDirectory ? MODE_DIRECTORY : MODE_REGULAR)) {
      throw new ProviderSourceError(
        "PROVIDER_SOURCE_ARCHIVE_ENTRY_REFUSED",
        `The archive is refused: ${JSON.stringify(path)} is a symbolic link or a special file; packages consist of plain files.`,
        { entry: path },
      );
    }
    if (isDirectory && entry.size > 0) {
      throw new ProviderSourceError(
        "PROVIDER_SOURCE_ARCHIVE_ENTRY_REFUSED",
        `The archive is refused: the directory ${JSON.stringify(path)} has content of its own.`,
        { entry: path },
      );
    }
    paths.add({ path, isDirectory });
    return { entry, path, isDirectory };
  });
}

/** Unpacks into a directory that is new and ours, so that no path can lead anywhere else. */
async function writeEntries(
  source: ArchiveSource,
  entries: readonly SafeEntry[],
  directory: string,
  options: ReadOptions,
): Promise<UnpackSummary> {
  const hash = new ContentHash();
  let files = 0;
  let totalBytes = 0;
  for (const { entry, path, isDirectory } of entries) {
    options.signal?.throwIfAborted();
    const target = join(directory, path);
    if (isDirectory) {
      await mkdir(target, { recursive: true });
      continue;
    }
    await mkdir(dirname(target), { recursive: true });
    const executable = (entry.unixMode & 0o111) !== 0;
    await using file = await open(target, "wx", executable ? 0o755 : 0o644);
    const content = hash.open(entry.name);
    for await (const chunk of readZipContent(source, entry, options)) {
      content.write(chunk);
      await file.writeFile(chunk);
    }
    content.close();
    files++;
    totalBytes += entry.size;
  }
  return { files, totalBytes, h1: hash.digest() };
}

async function isMissingOrEmpty(directory: string): Promise<boolean> {
  try {
    return (await readdir(directory)).length === 0;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT") return true;
    if (code === "ENOTDIR") return false;
    throw error;
  }
}

function destinationExists(path: string, cause?: unknown): ProviderSourceError {
  return new ProviderSourceError(
    "PROVIDER_SOURCE_DESTINATION_EXISTS",
    `Cannot unpack to ${path}: something is already there.`,
    { path },
    { cause },
  );
}

/**
 * Unpacks a zip archive into a directory that does not exist yet (or is empty), all or nothing: it
 * is unpacked beside its destination under a hidden name and renamed when all is well; else what
 * was unpacked is removed. Two at once for one destination do no harm: one of them wins.
 *
 * Nothing is written for an archive with unsafe paths, links, special files, colliding names,
 * overlapping or encrypted entries, or one beyond the limits; data that is longer than announced is
 * cut off and refused. Modes become 0755 for entries with any execute permission, 0644 for others. Memory does not
 * grow with sizes. Files are not forced to disk.
 *
 * Throws `PROVIDER_SOURCE_ARCHIVE_*`, `PROVIDER_SOURCE_HASH_MISMATCH`,
 * `PROVIDER_SOURCE_DESTINATION_EXISTS`, `PROVIDER_SOURCE_IO`, or the reason of `signal`.
 *
 * @param archive the path of the archive, or a source of its bytes, which stays open
 */
export async function unpackArchive(
  archive: string | ArchiveSource,
  destination: string,
  options: UnpackOptions = {},
): Promise<UnpackSummary> {
  if (typeof archive === "string") {
    await using source = await openArchiveFile(archive);
    return await unpackArchive(source, destination, options);
  }
  const { signal } = options;
  const limits = resolveArchiveLimits(options.limits);
  const expected = [...(options.expectedHashes ?? [])].filter(isSupportedHash);
  const target = resolve(destination);
  const unique = randomBytes(6).toString("hex");
  const temporary = join(dirname(target), `.${basename(target)}.${unique}.partial`);
  try {
    signal?.throwIfAborted();
    const entries = checkZipEntries(await readZipEntries(archive, limits, options), limits);
    if (!(await isMissingOrEmpty(target))) throw destinationExists(target);
    await mkdir(dirname(target), { recursive: true });
    await mkdir(temporary, { mode: 0o700 });
    const summary = await writeEntries(archive, entries, temporary, options);
    await checkHashes(archive, expected, summary.h1, options);
    await chmod(temporary, 0o755);
    signal?.throwIfAborted();
    await rename(temporary, target).catch((error: NodeJS.ErrnoException) => {
      const taken = ["EEXIST", "ENOTEMPTY", "ENOTDIR"].includes(error.code ?? "");
      throw taken ? destinationExists(target, error) : error;
    });
    return summary;
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    if (signal?.aborted === true) throw signal.reason;
    throw ProviderSourceError.from(error, target);
  }
}

async function checkHashes(
  archive: ArchiveSource,
  expected: readonly PackageHash[],
  h1: PackageHash,
  options: ReadOptions,
): Promise<void> {
  if (expected.length === 0 || expected.includes(h1)) return;
  const found = [h1];
  if (expected.some((hash) => hashScheme(hash) === "zh")) {
    const zh = await hashArchiveFile(archive, options);
    if (expected.includes(zh)) return;
    found.push(zh);
  }
  throw new ProviderSourceError(
    "PROVIDER_SOURCE_HASH_MISMATCH",
    `The package ${archive.name} has none of the expected hashes: it is ${found.join(" and ")}. It was changed since they were recorded, or it is a package for another platform.`,
    { expected, found },
  );
}
