import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ProviderSourceError } from "../errors.ts";
import {
  type ArchiveSummary,
  type PackEntry,
  type PackOptions,
  packArchive,
} from "./zip-writer.ts";

const CHUNK_BYTES = 256 * 1024;

function refuse(path: string, problem: string): ProviderSourceError {
  return new ProviderSourceError(
    "PROVIDER_SOURCE_PACKAGE_UNREADABLE",
    `Cannot pack ${path}: ${problem}.`,
    { path },
  );
}

/**
 * Lists the files below a directory for {@link packArchive}. Modes are brought to 0755 for files
 * that their owner may execute and to 0644 for others, so that the archive does not depend on the
 * umask of the process that created the files. Empty directories are left out. Throws
 * `PROVIDER_SOURCE_PACKAGE_UNREADABLE` for symbolic links and everything else that is not a file or directory.
 */
export async function listPackEntries(directory: string): Promise<PackEntry[]> {
  const entries: PackEntry[] = [];
  async function add(prefix: string): Promise<void> {
    const found = await readdir(join(directory, prefix), { withFileTypes: true });
    for (const { name } of found) {
      const path = prefix === "" ? name : `${prefix}/${name}`;
      const file = join(directory, path);
      const info = await lstat(file);
      if (info.isDirectory()) await add(path);
      else if (info.isSymbolicLink()) {
        throw refuse(file, "it is a symbolic link; put a copy of what it leads to in its place");
      } else if (!info.isFile()) throw refuse(file, "it is neither a file nor a directory");
      else {
        entries.push({
          path,
          mode: (info.mode & 0o100) === 0 ? 0o644 : 0o755,
          content: () => createReadStream(file, { highWaterMark: CHUNK_BYTES }),
        });
      }
    }
  }
  try {
    await add("");
  } catch (error) {
    throw ProviderSourceError.from(error, directory);
  }
  return entries;
}

/**
 * Packs entries into a file, replacing it atomically: a reader sees the former file or the whole
 * new one. Throws what {@link packArchive} throws, and `PROVIDER_SOURCE_IO`.
 */
export async function writeArchive(
  path: string,
  entries: Iterable<PackEntry>,
  options: PackOptions = {},
): Promise<ArchiveSummary> {
  const unique = randomBytes(6).toString("hex");
  const temporary = join(dirname(path), `.${basename(path)}.${unique}.tmp`);
  try {
    const summary = await (async () => {
      await using file = await open(temporary, "wx", 0o644);
      const packed = packArchive(entries, options);
      for (;;) {
        const step = await packed.next();
        if (step.done === true) {
          await file.sync();
          return step.value;
        }
        await file.writeFile(step.value);
      }
    })();
    await rename(temporary, path);
    return summary;
  } catch (error) {
    await rm(temporary, { force: true });
    if (options.signal?.aborted === true) throw options.signal.reason;
    throw ProviderSourceError.from(error, path);
  }
}
