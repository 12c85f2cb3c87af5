import { createHash } from "node:crypto";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ProviderSourceError } from "../errors.ts";
import { checkEntryPath, EntryPaths } from "./entry-path.ts";
import {
  type ArchiveLimits,
  checkLimit,
  RATIO_FREE_BYTES,
  type ResolvedArchiveLimits,
  resolveArchiveLimits,
} from "./limits.ts";
import {
  damaged,
  RECORD_BYTES,
  readPaxMembers,
  readTarHeader,
  type TarHeader,
} from "./tar-records.ts";

export interface TarballOptions {
  readonly limits?: ArchiveLimits;
  /** A folder that is new and the caller's own, to unpack to. @default the archive is only checked */
  readonly directory?: string;
  /** Which of its files are unpacked, by their paths; the others are checked alone. @default all */
  readonly unpacks?: (path: string) => boolean;
  readonly signal?: AbortSignal;
}

/** What an archive consists of. */
export interface TarballSummary {
  /**
   * SHA-256, in hexadecimal, over the sorted list of path, mode (`755` or `644`) and SHA-256 of each file: the same for
   * every archive of the same files.
   */
  readonly digest: string;
  readonly files: number;
  readonly totalBytes: number;
}

/** Headers that an entry may have before it: a long name, a long link, and the members of POSIX. */
const META_PER_ENTRY = 3;

/** Zeros that tar writes after the end of an archive, up to a whole block of a tape. */
const MAX_PADDING_BYTES = 1024 * 1024;

/** Bytes of an extended header or a long name. */
const MAX_META_BYTES = 64 * 1024;

/**
 * Reads a gzip-compressed tar archive (ustar, with the extended headers of POSIX and the long names of GNU) as a stream,
 * and unpacks it where a folder is given. Refuses what a zip archive is refused for: unsafe paths, links, special files,
 * names that collide on some system, and what is beyond the limits. Memory does not grow with sizes.
 *
 * Throws `PROVIDER_SOURCE_ARCHIVE_*`, or the reason of the signal. What was unpacked until then is the caller's to remove.
 */
export async function readTarball(
  content: AsyncIterable<Uint8Array>,
  { directory, signal, unpacks, ...options }: TarballOptions = {},
): Promise<TarballSummary> {
  const limits = resolveArchiveLimits(options.limits);
  let packed = 0;
  const counted = async function* () {
    for await (const chunk of content) {
      packed += chunk.byteLength;
      yield chunk;
    }
  };
  const gunzip = createGunzip();
  // A failure of either stream rejects the reads below.
  pipeline(Readable.from(counted()), gunzip, () => undefined);
  const onAbort = (): void => void gunzip.destroy();
  signal?.addEventListener("abort", onAbort, { once: true });
  const tree = new Tree(limits, directory, unpacks);
  const records = new Records(gunzip, (unpacked) => {
    if (unpacked <= RATIO_FREE_BYTES) return;
    checkLimit(limits, "maxRatio", Math.floor(unpacked / Math.max(1, packed)));
  });
  try {
    let longName: Uint8Array | undefined;
    let size: number | undefined;
    for (;;) {
      signal?.throwIfAborted();
      const record = await records.take(RECORD_BYTES);
      const header = record && readTarHeader(record);
      if (header === undefined) break;
      const length = size ?? header.size;
      const meta = META[header.type];
      if (meta !== undefined) {
        if (header.size > MAX_META_BYTES) throw damaged("an extended header is too large");
        tree.addMeta(header.size);
        const bytes = await records.whole(header.size);
        if (meta === "name") longName = bytes.subarray(0, zeroOf(bytes));
        if (meta === "members") {
          const members = readPaxMembers(bytes);
          longName = members.get("path") ?? longName;
          const given = members.get("size")?.toString();
          if (given !== undefined && !/^[0-9]{1,15}$/.test(given))
            throw damaged("a size is not a number");
          size = given === undefined ? size : Number(given);
        }
        continue;
      }
      await tree.add({ ...header, name: longName ?? header.name, size: length }, records, signal);
      longName = undefined;
      size = undefined;
    }
    await records.drain();
    return tree.summary();
  } catch (error) {
    signal?.throwIfAborted();
    const { code } = error as NodeJS.ErrnoException;
    if (typeof code === "string" && code.startsWith("Z_")) {
      throw damaged("it is not a gzip-compressed tar archive", error);
    }
    throw error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
    gunzip.destroy();
  }
}

/** Entries that say something of the next one; global members are of no use here. */
const META: Readonly<Record<string, "name" | "members" | "ignored">> = {
  L: "name",
  K: "ignored",
  x: "members",
  g: "ignored",
};

/** The files of an archive, as they come. */
class Tree {
  readonly #limits: ResolvedArchiveLimits;
  readonly #directory: string | undefined;
  readonly #unpacks: (path: string) => boolean;
  readonly #paths = new EntryPaths();
  readonly #lines: string[] = [];
  #entries = 0;
  #metaEntries = 0;
  #totalBytes = 0;
  #otherBytes = 0;

  constructor(
    limits: ResolvedArchiveLimits,
    directory: string | undefined,
    unpacks: ((path: string) => boolean) | undefined,
  ) {
    this.#limits = limits;
    this.#directory = directory;
    this.#unpacks = unpacks ?? (() => true);
  }

  /** Counts an extended header: they have the same bounds as entries, though nothing of them is unpacked. */
  addMeta(size: number): void {
    this.#metaEntries += 1;
    checkLimit(this.#limits, "maxEntries", Math.ceil(this.#metaEntries / META_PER_ENTRY));
    this.#countOther(size);
  }

  /** Bytes that are no content of a file, and have to be read like those that are. */
  #countOther(size: number): void {
    this.#otherBytes += size;
    checkLimit(this.#limits, "maxTotalBytes", this.#totalBytes + this.#otherBytes);
  }

  async add(header: TarHeader, records: Records, signal: AbortSignal | undefined): Promise<void> {
    this.#entries += 1;
    checkLimit(this.#limits, "maxEntries", this.#entries);
    const name = withoutDot(header.name);
    const isDirectory = header.type === "5";
    // The folder that was packed.
    if (name.length === 0 && isDirectory) return;
    const entry = checkEntryPath(name, this.#limits);
    const { path } = entry;
    const isFile = header.type === "0" || header.type === "\0";
    if (!isDirectory && (!isFile || entry.isDirectory)) {
      throw new ProviderSourceError(
        "PROVIDER_SOURCE_ARCHIVE_ENTRY_REFUSED",
        `The archive is refused: ${JSON.stringify(path)} is a link or a special file; it may hold files and folders only.`,
        { entry: path },
      );
    }
    this.#paths.add({ path, isDirectory });
    const target =
      this.#directory === undefined || !this.#unpacks(path)
        ? undefined
        : join(this.#directory, path);
    if (isDirectory) {
      if (target !== undefined) await mkdir(target, { recursive: true, mode: 0o700 });
      this.#countOther(header.size);
      if (header.size > MAX_META_BYTES) throw damaged("a folder has content");
      await records.whole(header.size);
      return;
    }
    checkLimit(this.#limits, "maxEntryBytes", header.size, path);
    this.#totalBytes += header.size;
    checkLimit(this.#limits, "maxTotalBytes", this.#totalBytes + this.#otherBytes);
    const executable = (header.mode & 0o111) !== 0;
    const sha256 = createHash("sha256");
    let file: FileHandle | undefined;
    try {
      if (target !== undefined) {
        await mkdir(dirname(target), { recursive: true, mode: 0o700 });
        file = await open(target, "wx", executable ? 0o500 : 0o400);
      }
      for await (const chunk of records.content(header.size)) {
        signal?.throwIfAborted();
        sha256.update(chunk);
        await file?.writeFile(chunk);
      }
    } finally {
      await file?.close();
    }
    this.#lines.push(`${path}\0${executable ? "755" : "644"}\0${sha256.digest("hex")}\n`);
  }

  summary(): TarballSummary {
    const digest = createHash("sha256");
    for (const line of this.#lines.toSorted()) digest.update(line);
    return {
      digest: digest.digest("hex"),
      files: this.#lines.length,
      totalBytes: this.#totalBytes,
    };
  }
}

/** Bytes of the unpacked stream, in records of 512. */
class Records {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #onRead: (total: number) => void;
  #rest: Buffer = Buffer.alloc(0);
  #total = 0;

  constructor(stream: AsyncIterable<Buffer>, onRead: (total: number) => void) {
    this.#chunks = stream[Symbol.asyncIterator]();
    this.#onRead = onRead;
  }

  /** So many bytes; undefined at the end of the stream. */
  async take(length: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    let missing = length;
    while (missing > 0) {
      if (this.#rest.length === 0 && !(await this.#more())) {
        if (missing === length) return undefined;
        throw damaged("it ends within an entry");
      }
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      parts.push(part);
      missing -= part.length;
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  /** A small content at once, with its padding. */
  async whole(size: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const chunk of this.content(size)) parts.push(chunk);
    return Buffer.concat(parts);
  }

  /** A content piece by piece; its padding is passed over. */
  async *content(size: number): AsyncGenerator<Buffer> {
    let left = size;
    while (left > 0) {
      const chunk = await this.take(Math.min(left, 65_536));
      if (chunk === undefined) throw damaged("it ends within an entry");
      left -= chunk.length;
      yield chunk;
    }
    const padding = (RECORD_BYTES - (size % RECORD_BYTES)) % RECORD_BYTES;
    if (padding > 0 && (await this.take(padding)) === undefined) {
      throw damaged("it ends within an entry");
    }
  }

  /** Reads to the end, so that the checksum of gzip is compared. */
  async drain(): Promise<void> {
    this.#rest = Buffer.alloc(0);
    const end = this.#total + MAX_PADDING_BYTES;
    while (await this.#more()) {
      this.#rest = Buffer.alloc(0);
      if (this.#total > end) throw damaged("data follows its end");
    }
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done === true) return false;
    this.#total += value.length;
    this.#onRead(this.#total);
    this.#rest = value;
    return true;
  }
}

/** `./a` is `a`: archives of a folder begin their names so. */
function withoutDot(name: Uint8Array): Uint8Array {
  let rest = name;
  while (rest[0] === 0x2e && rest[1] === 0x2f) rest = rest.subarray(2);
  return rest.length === 1 && rest[0] === 0x2e ? rest.subarray(1) : rest;
}

function zeroOf(bytes: Buffer): number {
  const end = bytes.indexOf(0);
  return end < 0 ? bytes.length : end;
}
