import { ProviderSourceError } from "../errors.ts";
import { checkLimit, type ResolvedArchiveLimits } from "./limits.ts";

/** Control characters, backslash, colon: not portable, or dangerous on some system. */
const FORBIDDEN = /[\p{Cc}\\:]/u;

/** Bytes of one name: what the file systems of Linux take, and about what others do. */
const MAX_NAME_BYTES = 255;

/** An entry's path that is safe below any directory, and whether it names a directory. */
interface EntryPath {
  /** Relative, with slashes, without a slash at its end. */
  readonly path: string;
  readonly isDirectory: boolean;
}

function unsafe(entry: string, problem: string): ProviderSourceError {
  return new ProviderSourceError(
    "PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE",
    `The archive is refused: the path ${JSON.stringify(entry)} ${problem}.`,
    { entry },
  );
}

/**
 * Checks the name of an entry. Throws `PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE` unless it is a relative
 * path of plain names in UTF-8 of at most 255 bytes each: no `..`, `.` or empty part, not absolute in
 * the sense of any system, no backslash, colon or control character. Throws `PROVIDER_SOURCE_ARCHIVE_LIMIT` if it is
 * too long or too deep.
 */
export function checkEntryPath(name: Uint8Array, limits: ResolvedArchiveLimits): EntryPath {
  const loose = Buffer.from(name).toString();
  checkLimit(limits, "maxPathBytes", name.length, loose.slice(0, 100));
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(name);
  } catch {
    throw unsafe(loose, "is not UTF-8");
  }
  const isDirectory = text.endsWith("/");
  const path = isDirectory ? text.slice(0, -1) : text;
  if (path === "") throw unsafe(text, "is empty");
  if (FORBIDDEN.test(path)) {
    throw unsafe(text, "contains a backslash, a colon or a control character");
  }
  if (path.startsWith("/")) throw unsafe(text, "is absolute");
  const parts = path.split("/");
  if (parts.includes("..")) throw unsafe(text, 'leads out of the archive with ".."');
  if (parts.includes("") || parts.includes(".")) throw unsafe(text, "has an empty part");
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)) {
    throw unsafe(text, `has a name of more than ${MAX_NAME_BYTES} bytes`);
  }
  checkLimit(limits, "maxDepth", parts.length - (isDirectory ? 0 : 1), text);
  return { path, isDirectory };
}

/**
 * Keeps the paths of an archive apart: two entries must not have the same path, nor paths that some
 * file system takes for the same (letter case, Unicode form), nor may one lie below a file.
 */
export class EntryPaths {
  readonly #files = new Map<string, string>();
  readonly #directories = new Map<string, string>();

  /** Throws `PROVIDER_SOURCE_ARCHIVE_DUPLICATE` if the path collides with an earlier one. */
  add({ path, isDirectory }: EntryPath): void {
    // Slashes stay where they are between the parts, so both texts can be cut part by part.
    const key = path.normalize("NFC").toLowerCase();
    if (isDirectory) this.#addDirectory(path, key, path);
    else {
      this.#refuse(path, this.#files.get(key) ?? this.#directories.get(key));
      this.#files.set(key, path);
    }
    let end = path.lastIndexOf("/");
    let keyEnd = key.lastIndexOf("/");
    while (end > 0 && this.#addDirectory(path, key.slice(0, keyEnd), path.slice(0, end))) {
      end = path.lastIndexOf("/", end - 1);
      keyEnd = key.lastIndexOf("/", keyEnd - 1);
    }
  }

  /** The same directory may come up again, but in the same spelling. Whether it is a first time. */
  #addDirectory(path: string, key: string, directory: string): boolean {
    const former = this.#directories.get(key);
    this.#refuse(path, this.#files.get(key) ?? (former === directory ? undefined : former));
    this.#directories.set(key, directory);
    return former === undefined;
  }

  #refuse(entry: string, other: string | undefined): void {
    if (other === undefined) return;
    throw new ProviderSourceError(
      "PROVIDER_SOURCE_ARCHIVE_DUPLICATE",
      `The archive is refused: ${JSON.stringify(entry)} and ${JSON.stringify(other)} would be the same file on some systems.`,
      { entry, other },
    );
  }
}
