import { randomBytes } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ProviderSourceError } from "../errors.ts";
import type { LockFile } from "./lock-file.ts";
import { type ParsedLockFile, parseLockFile } from "./lock-parser.ts";

/**
 * Reads a lock file from disk; undefined if there is none. Throws
 * `PROVIDER_SOURCE_LOCK_FILE_INVALID` for what {@link parseLockFile} refuses and for text that is
 * not UTF-8, `PROVIDER_SOURCE_IO` if it cannot be read.
 */
export async function readLockFile(
  path: string,
  options: { readonly signal?: AbortSignal } = {},
): Promise<ParsedLockFile | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path, options);
  } catch (error) {
    if (options.signal?.aborted === true) throw options.signal.reason;
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw ProviderSourceError.from(error, path);
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ProviderSourceError(
      "PROVIDER_SOURCE_LOCK_FILE_INVALID",
      `${path}:1:1: the file is not UTF-8 text`,
      { file: path, problems: [{ line: 1, column: 1, message: "the file is not UTF-8 text" }] },
      { cause: error },
    );
  }
  return parseLockFile(text, { filename: path });
}

/**
 * Replaces a lock file atomically: a reader sees the former content or the whole new
 * one, also after a crash. Throws `PROVIDER_SOURCE_IO`; the former file then is as it was.
 */
export async function writeLockFile(path: string, locks: LockFile): Promise<void> {
  const unique = randomBytes(6).toString("hex");
  const temporary = join(dirname(path), `.${basename(path)}.${unique}.tmp`);
  try {
    {
      await using file = await open(temporary, "wx", 0o644);
      await file.writeFile(locks.toString());
      await file.sync();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw ProviderSourceError.from(error, path);
  }
}
