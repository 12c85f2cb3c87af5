import { open, readdir, realpath, stat } from "node:fs/promises";
import { ProviderSourceError } from "../errors.ts";
import { ContentHash } from "./content-hash.ts";
import type { PackageHash } from "./package-hash.ts";

const CHUNK_BYTES = 256 * 1024;
const SLASH = Buffer.from("/");

function join(directory: Buffer, name: Buffer): Buffer {
  return directory.length === 0 ? name : Buffer.concat([directory, SLASH, name]);
}

/**
 * The `h1:` hash of an unpacked package: of all files below a directory, as the command computes
 * it. Names are taken as the bytes they are, empty directories do not count, a symbolic link counts
 * as the file it leads to. Files are read in pieces of 256 KiB, one after the other.
 *
 * Throws `PROVIDER_SOURCE_PACKAGE_UNREADABLE` if the directory is none, or something in it is
 * neither a file nor a directory (a link to a directory, a socket), or has a line feed in its
 * name; `PROVIDER_SOURCE_IO` if reading fails; the reason of `signal` when it fires.
 */
export async function hashDirectory(
  directory: string,
  options: { readonly signal?: AbortSignal } = {},
): Promise<PackageHash> {
  const { signal } = options;
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const hash = new ContentHash();

  const unreadable = (name: Buffer, problem: string) => {
    const path = name.length === 0 ? directory : `${directory}/${name.toString()}`;
    return new ProviderSourceError(
      "PROVIDER_SOURCE_PACKAGE_UNREADABLE",
      `Cannot hash the package at ${directory}: ${path} ${problem}.`,
      { path },
    );
  };

  async function addFile(root: Buffer, name: Buffer): Promise<void> {
    const entry = hash.open(name);
    await using file = await open(join(root, name));
    for (;;) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES);
      if (bytesRead === 0) break;
      entry.write(buffer.subarray(0, bytesRead));
    }
    entry.close();
  }

  async function addDirectory(root: Buffer, name: Buffer): Promise<void> {
    signal?.throwIfAborted();
    const path = name.length === 0 ? root : join(root, name);
    for (const entry of await readdir(path, { encoding: "buffer", withFileTypes: true })) {
      const child = join(name, entry.name);
      if (entry.isDirectory()) await addDirectory(root, child);
      else if (entry.isFile()) await addFile(root, child);
      else if (!entry.isSymbolicLink()) {
        throw unreadable(child, "is neither a file nor a directory");
      } else if ((await stat(join(root, child))).isFile()) await addFile(root, child);
      else throw unreadable(child, "is a link that does not lead to a file");
    }
  }

  try {
    // A whole package may be linked in from a cache; inside it links to directories are refused.
    const root = await realpath(directory);
    if (!(await stat(root)).isDirectory()) {
      throw unreadable(Buffer.alloc(0), "is not a directory");
    }
    await addDirectory(Buffer.from(root), Buffer.alloc(0));
    return hash.digest();
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    throw ProviderSourceError.from(error, directory);
  }
}
