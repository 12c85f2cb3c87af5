import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { ProviderSourceError } from "../errors.ts";
import { ContentHash } from "../hash/content-hash.ts";
import { type PackageHash, zipHash } from "../hash/package-hash.ts";
import { compareUtf8 } from "../order.ts";
import { deflateReproducibly } from "./deflate.ts";
import { checkEntryPath, EntryPaths } from "./entry-path.ts";
import { checkLimit, resolveArchiveLimits } from "./limits.ts";
import {
  CENTRAL_SIGNATURE,
  DESCRIPTOR_SIGNATURE,
  END_SIGNATURE,
  FIXED_DATE,
  FIXED_TIME,
  FLAG_DESCRIPTOR,
  FLAG_UTF8,
  HOST_UNIX,
  LOCAL_SIGNATURE,
  METHOD_DEFLATED,
  METHOD_STORED,
  MODE_REGULAR,
  packRecord,
  VERSION_NEEDED,
} from "./zip-records.ts";

/** A file to be packed. */
export interface PackEntry {
  /** Relative, with slashes. */
  readonly path: string;
  /** Permission bits. @default 0o644 */
  readonly mode?: number;
  /**
   * The bytes, or a function that streams them from the start each time it is called; for stored
   * entries it is called twice, and must give the same bytes.
   */
  readonly content: Uint8Array | (() => AsyncIterable<Uint8Array>);
}

/** How to pack. */
export interface PackOptions {
  /**
   * `deflate` compresses in JavaScript, at about 20 MB/s; `store` does not compress.
   * @default "deflate"
   */
  readonly compression?: "deflate" | "store";
  readonly signal?: AbortSignal;
}

/** What was packed. */
export interface ArchiveSummary {
  readonly sizeBytes: number;
  readonly entries: number;
  /** The hash of the content: the same as that of the unpacked directory. */
  readonly h1: PackageHash;
  /** The hash of the archive. */
  readonly zh: PackageHash;
}

/** Entry sizes, offsets and the archive stay below what 32-bit fields can say. */
const MAX_BYTES = 0xffff_fffe;
const MAX_ENTRIES = 0xfffe;

const LIMITS = {
  ...resolveArchiveLimits(),
  maxEntries: MAX_ENTRIES,
  maxEntryBytes: MAX_BYTES,
  maxTotalBytes: MAX_BYTES,
};

interface Measures {
  readonly crc: number;
  readonly size: number;
}

/** Content in chunks, with what was seen of it once it is through. */
class Meter {
  #crc = 0;
  #size = 0;
  readonly #path: string;
  readonly #signal: AbortSignal | undefined;

  constructor(path: string, signal: AbortSignal | undefined) {
    this.#path = path;
    this.#signal = signal;
  }

  get measures(): Measures {
    return { crc: this.#crc, size: this.#size };
  }

  async *through(
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    see: (chunk: Uint8Array) => void = () => undefined,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.#signal?.throwIfAborted();
      this.#crc = crc32(chunk, this.#crc);
      this.#size += chunk.byteLength;
      checkLimit(LIMITS, "maxEntryBytes", this.#size, this.#path);
      see(chunk);
      yield chunk;
    }
  }
}

function readContent({ content }: PackEntry): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return typeof content === "function" ? content() : [content];
}

async function measure(entry: PackEntry, signal: AbortSignal | undefined): Promise<Measures> {
  const meter = new Meter(entry.path, signal);
  for await (const _ of meter.through(readContent(entry)));
  return meter.measures;
}

/** The entries in byte order of their paths, each path safe and different from the others. */
function checkEntries(entries: Iterable<PackEntry>): PackEntry[] {
  const paths = new EntryPaths();
  const sorted = [...entries].sort((a, b) => compareUtf8(a.path, b.path));
  checkLimit(LIMITS, "maxEntries", sorted.length);
  for (const { path, mode = 0o644 } of sorted) {
    const checked = checkEntryPath(Buffer.from(path), LIMITS);
    if (checked.isDirectory || !path.isWellFormed()) {
      throw new ProviderSourceError(
        "PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE",
        `Cannot pack ${JSON.stringify(path)}: it is not the path of a file.`,
        { entry: path },
      );
    }
    paths.add(checked);
    if (!Number.isInteger(mode) || mode < 0 || mode > 0o777) {
      throw new RangeError(`the mode of ${path} must be permission bits, not ${mode}`);
    }
  }
  return sorted;
}

/**
 * Packs files into a zip archive, which comes out as a stream; the generator returns the summary.
 *
 * The archive is reproducible: its bytes follow from paths, modes, contents and options alone.
 * Entries are sorted by the bytes of their paths, times are fixed at 1980-01-01, there are no
 * entries for directories, no comments and no extra fields. Modes are kept. Memory does not grow
 * with the size of the files. No 64-bit records are written: a file, or the archive, of 4 GiB is
 * refused.
 *
 * Throws `PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE` or `..._DUPLICATE` for paths that
 * {@link unpackArchive} would refuse, `..._LIMIT` for sizes, `PROVIDER_SOURCE_PACKAGE_UNREADABLE`
 * if content changes between two readings.
 */
export async function* packArchive(
  entries: Iterable<PackEntry>,
  options: PackOptions = {},
): AsyncGenerator<Uint8Array, ArchiveSummary> {
  const { compression = "deflate", signal } = options;
  const sorted = checkEntries(entries);
  const contentHash = new ContentHash();
  const archiveHash = createHash("sha256");
  const central: Buffer[] = [];
  let offset = 0;

  const out = (bytes: Uint8Array): Uint8Array => {
    archiveHash.update(bytes);
    offset += bytes.byteLength;
    checkLimit(LIMITS, "maxTotalBytes", offset);
    return bytes;
  };

  for (const entry of sorted) {
    signal?.throwIfAborted();
    const name = Buffer.from(entry.path);
    const start = offset;
    const stored = compression === "store";
    // A reader that goes from front to back cannot find the end of stored data without its size.
    const known = stored ? await measure(entry, signal) : undefined;
    const flags =
      (known ? 0 : FLAG_DESCRIPTOR) | (name.length === entry.path.length ? 0 : FLAG_UTF8);
    const method = stored ? METHOD_STORED : METHOD_DEFLATED;
    const head = [
      [2, VERSION_NEEDED],
      [2, flags],
      [2, method],
      [2, FIXED_TIME],
      [2, FIXED_DATE],
    ] as const;
    yield out(
      packRecord([
        [4, LOCAL_SIGNATURE],
        ...head,
        [4, known?.crc ?? 0],
        [4, known?.size ?? 0],
        [4, known?.size ?? 0],
        [2, name.length],
        [2, 0],
      ]),
    );
    yield out(name);

    const meter = new Meter(entry.path, signal);
    const hash = contentHash.open(name);
    const content = meter.through(readContent(entry), (chunk) => hash.write(chunk));
    const dataStart = offset;
    for await (const chunk of stored ? content : deflateReproducibly(content)) yield out(chunk);
    hash.close();
    const packedSize = offset - dataStart;
    const { crc, size } = meter.measures;
    if (known && (known.crc !== crc || known.size !== size)) {
      throw new ProviderSourceError(
        "PROVIDER_SOURCE_PACKAGE_UNREADABLE",
        `Cannot pack ${entry.path}: its content changed while it was read.`,
        { path: entry.path },
      );
    }
    const sizes = [
      [4, crc],
      [4, packedSize],
      [4, size],
    ] as const;
    if (!known) yield out(packRecord([[4, DESCRIPTOR_SIGNATURE], ...sizes]));
    central.push(
      packRecord([
        [4, CENTRAL_SIGNATURE],
        [2, (HOST_UNIX << 8) | VERSION_NEEDED],
        ...head,
        ...sizes,
        [2, name.length],
        [2, 0],
        [2, 0],
        [2, 0],
        [2, 0],
        [4, (MODE_REGULAR | (entry.mode ?? 0o644)) * 0x10000],
        [4, start],
      ]),
      name,
    );
  }

  const centralStart = offset;
  for (const record of central) yield out(record);
  const centralSize = offset - centralStart;
  yield out(
    packRecord([
      [4, END_SIGNATURE],
      [2, 0],
      [2, 0],
      [2, sorted.length],
      [2, sorted.length],
      [4, centralSize],
      [4, centralStart],
      [2, 0],
    ]),
  );
  return {
    sizeBytes: offset,
    entries: sorted.length,
    h1: contentHash.digest(),
    zh: zipHash(archiveHash.digest("hex")),
  };
}
