import { createHash } from "node:crypto";
import { isAbsolute, relative } from "node:path";
import { FunctionError } from "../eval/function.ts";
import type { BundleFiles } from "../eval/host.ts";
import { globMatcher } from "./glob.ts";

/** What a function found when it read a file, or a set of files. */
export interface FileRead {
  /** Relative to the folder of the root module; absolute outside of the bundle's root. */
  readonly path: string;
  /** Of a set of files. */
  readonly pattern?: string;
  /** SHA-256 of the content, or of the names of a set; absent where there was no file. */
  readonly sha256?: string;
  /** Only whether there is a file was asked. */
  readonly existence?: true;
}

/** Records what functions read, so that it can be compared later. */
export class FileReads {
  readonly #reads = new Map<string, FileRead>();
  readonly #wrapped = new Map<BundleFiles, BundleFiles>();

  /** The same files; what is read from them is recorded. */
  wrap(files: BundleFiles): BundleFiles {
    const known = this.#wrapped.get(files);
    if (known !== undefined) return known;
    const wrapped: BundleFiles = {
      ...files,
      read: (path) => {
        try {
          const bytes = files.read(path);
          this.#add(files, { path, sha256: digest(bytes) });
          return bytes;
        } catch (error) {
          this.#add(files, { path });
          throw error;
        }
      },
      exists: (path) => {
        const found = files.exists(path);
        this.#add(files, { path, existence: true, ...(found && { sha256: "" }) });
        return found;
      },
      list: (path, pattern = "**") => {
        const found = files.list(path, pattern);
        this.#add(files, { path, pattern, sha256: namesDigest(found, pattern) });
        return found;
      },
    };
    this.#wrapped.set(files, wrapped);
    return wrapped;
  }

  /** In the order of their paths. */
  recorded(): readonly FileRead[] {
    return [...this.#reads].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, read]) => read);
  }

  #add(files: BundleFiles, read: FileRead): void {
    const path = recordedPath(files, read.path);
    const { pattern = "", existence = false } = read;
    const key = `${path}\0${pattern}\0${existence}`;
    // What was read first is what the plan is made of.
    if (!this.#reads.has(key)) this.#reads.set(key, { ...read, path });
  }
}

/** Those of the recorded reads that would find something else now. */
export function changedReads(files: BundleFiles, reads: readonly FileRead[]): readonly FileRead[] {
  return reads.filter((read) => readAgain(files, read) !== read.sha256);
}

function readAgain(files: BundleFiles, { path, pattern, existence }: FileRead): string | undefined {
  try {
    if (pattern !== undefined) return namesDigest(files.list(path, pattern), pattern);
    if (existence === true) return files.exists(path) ? "" : undefined;
    const bytes = files.read(path);
    const found = digest(bytes);
    files.discard?.(bytes);
    return found;
  } catch (error) {
    if (error instanceof FunctionError) return undefined;
    throw error;
  }
}

/** A path by which the file is found in a copy of the tree as well, as far as it lies in the tree. */
function recordedPath(files: BundleFiles, path: string): string {
  const { machine } = files;
  if (machine === undefined || !isAbsolute(path)) return path;
  const { bundleRoot } = machine;
  if (bundleRoot === undefined || !(path === bundleRoot || path.startsWith(`${bundleRoot}/`))) {
    return path;
  }
  return relative(files.absolute("."), path) || ".";
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function namesDigest(names: readonly string[], pattern: string): string {
  return digest(Buffer.from(names.filter(globMatcher(pattern)).join("\0")));
}
