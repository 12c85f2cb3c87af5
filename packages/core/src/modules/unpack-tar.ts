import { mkdirSync, writeFileSync } from "node:fs";
import { copyFile, open, symlink } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { ModuleError } from "@stackwright/lang";
import { DEFAULT_MODULE_LIMITS, type ModuleLimits } from "./module-tree.ts";
import { Pauses, SMALL_FILE_BYTES } from "./small-files.ts";

const BLOCK = 512;
const EMPTY_BLOCK = Buffer.alloc(BLOCK);
/** Headers of names that are too long for the ordinary ones. */
const MAX_HEADER_BYTES = 1024 * 1024;

/** What one header of a tar archive says. */
interface TarEntry {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly mode: number;
  readonly link: string;
}

/**
 * Unpacks a tar archive into an empty folder. Entries with unsafe paths, devices and hard links to what the archive does not
 * have are refused; symbolic links are made after all files, so that nothing is written through one. Where links lead is for
 * `hashModuleTree` to check.
 *
 * @returns how many entries it has
 */
export async function unpackTar(
  source: AsyncIterable<unknown> | Iterable<unknown>,
  folder: string,
  { limits = {}, signal }: { readonly limits?: ModuleLimits; readonly signal?: AbortSignal } = {},
): Promise<number> {
  const { maxBytes, maxFiles } = { ...DEFAULT_MODULE_LIMITS, ...limits };
  const input = new BlockReader(source);
  const pauses = new Pauses();
  const folders = new Set<string>();
  const makeFolder = (path: string): void => {
    if (folders.has(path)) return;
    mkdirSync(path, { recursive: true });
    folders.add(path);
  };
  const links: { readonly path: string; readonly target: string }[] = [];
  let bytes = 0;
  let files = 0;
  let next: Partial<Pick<TarEntry, "name" | "link" | "size">> = {};
  for (;;) {
    signal?.throwIfAborted();
    const header = await input.take(BLOCK);
    // Two empty blocks end an archive; some end without them.
    if (header === undefined || header.equals(EMPTY_BLOCK)) break;
    await pauses.step();
    const entry = { ...readHeader(header), ...next };
    // Checked before it is counted: a size that is no number, or below zero, would undo the limit.
    if (!Number.isSafeInteger(entry.size) || entry.size < 0)
      throw refused("a size in it is invalid");
    if (["x", "g", "L", "K"].includes(entry.type)) {
      if (entry.size > MAX_HEADER_BYTES) throw refused("a header of it is too large");
      const content = await input.content(entry.size);
      if (entry.type === "x") next = { ...next, ...paxFields(content) };
      if (entry.type === "L") next = { ...next, name: text(content) };
      if (entry.type === "K") next = { ...next, link: text(content) };
      continue;
    }
    next = {};
    const path = safePath(entry.name);
    const place = join(folder, path);
    files += 1;
    bytes += entry.size;
    if (files > maxFiles) throw refused(`it has more than ${maxFiles} files`);
    if (bytes > maxBytes) throw refused(`its files have more than ${maxBytes} bytes`);
    if (entry.type === "5" || (entry.type === "0" && entry.name.endsWith("/"))) {
      makeFolder(place);
      continue;
    }
    makeFolder(dirname(place));
    if (entry.type === "0") {
      const mode = (entry.mode & 0o111) === 0 ? 0o644 : 0o755;
      if (entry.size <= SMALL_FILE_BYTES) {
        writeFileSync(place, await input.content(entry.size), { mode });
        continue;
      }
      await using file = await open(place, "w", mode);
      for await (const part of input.parts(entry.size)) await file.writeFile(part);
    } else if (entry.type === "2") {
      links.push({ path: place, target: entry.link });
    } else if (entry.type === "1") {
      await copyFile(join(folder, safePath(entry.link)), place).catch(() => {
        throw refused(`the hard link ${JSON.stringify(entry.name)} leads to nothing in it`);
      });
    } else {
      throw refused(`${JSON.stringify(entry.name)} is neither a file nor a folder nor a link`);
    }
  }
  for (const { path, target } of links) {
    if (posix.isAbsolute(target)) throw refused(`a link of it leads to ${JSON.stringify(target)}`);
    await symlink(target, path);
  }
  // What follows the end, such as padding, is read so that the program behind the stream can end.
  await input.drain(maxBytes, signal);
  return files;
}

function readHeader(block: Buffer): TarEntry {
  const stored = Number.parseInt(text(block.subarray(148, 156)).trim(), 8);
  // Its own field counts as spaces.
  let sum = 8 * 0x20;
  for (let at = 0; at < BLOCK; at += 1) if (at < 148 || at >= 156) sum += block[at] ?? 0;
  if (stored !== sum) throw refused("it is damaged, or no tar archive");
  const magic = block.subarray(257, 262).toString() === "ustar";
  const prefix = magic && block[262] === 0 ? text(block.subarray(345, 500)) : "";
  const name = text(block.subarray(0, 100));
  const type = String.fromCharCode(block[156] ?? 0);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    type: type === "\0" || type === "7" ? "0" : type,
    size: ["1", "2", "5"].includes(type) ? 0 : readNumber(block.subarray(124, 136)),
    mode: readNumber(block.subarray(100, 108)),
    link: text(block.subarray(157, 257)),
  };
}

/** Octal digits, or binary where the first bit is set. */
function readNumber(field: Buffer): number {
  if (((field[0] ?? 0) & 0x80) === 0) {
    return Number.parseInt(text(field).trim() || "0", 8);
  }
  const value = BigInt(`0x${field.toString("hex")}`) & ((1n << BigInt(field.length * 8 - 1)) - 1n);
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
}

/** `LENGTH NAME=VALUE` lines. */
function paxFields(content: Buffer): Partial<Pick<TarEntry, "name" | "link" | "size">> {
  const found: { name?: string; link?: string; size?: number } = {};
  let at = 0;
  while (at < content.length) {
    const space = content.indexOf(0x20, at);
    const length = Number(content.subarray(at, space).toString());
    if (space < 0 || !(length > space - at)) throw refused("a header of it is damaged");
    const line = content.subarray(space + 1, at + length - 1).toString();
    const split = line.indexOf("=");
    const value = line.slice(split + 1);
    if (line.startsWith("path=")) found.name = value;
    if (line.startsWith("linkpath=")) found.link = value;
    if (line.startsWith("size=")) found.size = Number(value);
    at += length;
  }
  return found;
}

/** A relative path of plain parts. */
function safePath(name: string): string {
  const clean = posix.normalize(name).replace(/(?<=.)\/$/, "");
  if (name.includes("\0") || posix.isAbsolute(name) || clean === ".." || clean.startsWith("../")) {
    throw refused(`the path ${JSON.stringify(name)} leads out of it`);
  }
  return clean;
}

function refused(why: string): ModuleError {
  return new ModuleError("Failed to download module", `The archive is refused: ${why}.`);
}

/** Text up to its first null character. */
function text(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.subarray(0, end < 0 ? bytes.length : end).toString();
}

/** A stream, read in exact pieces. */
class BlockReader {
  readonly #parts: AsyncIterator<unknown> | Iterator<unknown>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<unknown> | Iterable<unknown>) {
    this.#parts =
      Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#parts.next();
    if (done === true) return false;
    this.#rest =
      this.#rest.length === 0 ? (value as Buffer) : Buffer.concat([this.#rest, value as Buffer]);
    return true;
  }

  /** Exactly so many bytes; undefined at the end. */
  async take(size: number): Promise<Buffer | undefined> {
    while (this.#rest.length < size) {
      if (await this.#more()) continue;
      if (this.#rest.length === 0) return undefined;
      throw refused("it is cut off");
    }
    const taken = this.#rest.subarray(0, size);
    this.#rest = this.#rest.subarray(size);
    return taken;
  }

  /** The content of an entry, with what fills its last block behind it. */
  async *parts(size: number): AsyncGenerator<Buffer, void, undefined> {
    let left = size;
    while (left > 0) {
      if (this.#rest.length === 0 && !(await this.#more())) throw refused("it is cut off");
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
    await this.take((BLOCK - (size % BLOCK)) % BLOCK);
  }

  async content(size: number): Promise<Buffer> {
    const padded = Math.ceil(size / BLOCK) * BLOCK;
    if (this.#rest.length >= padded) {
      const content = this.#rest.subarray(0, size);
      this.#rest = this.#rest.subarray(padded);
      return content;
    }
    const parts: Buffer[] = [];
    for await (const part of this.parts(size)) parts.push(part);
    return Buffer.concat(parts);
  }

  async drain(maxBytes: number, signal: AbortSignal | undefined): Promise<void> {
    let bytes = 0;
    do {
      signal?.throwIfAborted();
      bytes += this.#rest.length;
      if (bytes > maxBytes) throw refused(`more than ${maxBytes} bytes follow its end`);
      this.#rest = Buffer.alloc(0);
    } while (await this.#more());
  }
}
