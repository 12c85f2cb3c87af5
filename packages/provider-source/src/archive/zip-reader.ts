import { ioError, ProviderSourceError } from "../errors.ts";
import type { ArchiveSource } from "./archive-source.ts";
import { checkLimit, RATIO_FREE_BYTES, type ResolvedArchiveLimits } from "./limits.ts";
import {
  CENTRAL_BYTES,
  CENTRAL_SIGNATURE,
  END_BYTES,
  END_SIGNATURE,
  END64_BYTES,
  END64_SIGNATURE,
  FLAG_ENCRYPTED,
  FLAG_MASKED_HEADERS,
  FLAG_STRONG_ENCRYPTION,
  IN_EXTRA_16,
  IN_EXTRA_32,
  LOCAL_BYTES,
  LOCATOR64_BYTES,
  LOCATOR64_SIGNATURE,
  METHOD_DEFLATED,
  METHOD_STORED,
  readExtra64,
  UNIX_HOSTS,
} from "./zip-records.ts";

/** One entry, as the central directory has it. */
export interface ZipEntry {
  readonly name: Buffer;
  /** For messages. */
  readonly label: string;
  readonly flags: number;
  readonly method: typeof METHOD_STORED | typeof METHOD_DEFLATED;
  readonly crc: number;
  readonly packedSize: number;
  readonly size: number;
  /** Type and permission bits, if the archive was made on Unix; else zero. */
  readonly unixMode: number;
  readonly headerOffset: number;
  /** Where the next entry, or the central directory, starts: data must end before it. */
  readonly limitOffset: number;
}

export function malformed(
  source: ArchiveSource,
  problem: string,
  entry?: string,
): ProviderSourceError<"PROVIDER_SOURCE_ARCHIVE_MALFORMED"> {
  const place = entry === undefined ? "" : ` at ${JSON.stringify(entry)}`;
  return new ProviderSourceError(
    "PROVIDER_SOURCE_ARCHIVE_MALFORMED",
    `${source.name} is not a well-formed zip archive${place}: ${problem}.`,
    entry === undefined ? {} : { entry },
  );
}

function unsupported(source: ArchiveSource, problem: string, entry?: string): ProviderSourceError {
  const place = entry === undefined ? "" : `${JSON.stringify(entry)} `;
  return new ProviderSourceError(
    "PROVIDER_SOURCE_ARCHIVE_UNSUPPORTED",
    `${source.name} cannot be read: ${place}${problem}.`,
    entry === undefined ? {} : { entry },
  );
}

/** What reading is given along with the source. */
export interface ReadOptions {
  readonly signal?: AbortSignal;
}

async function readBuffer(
  source: ArchiveSource,
  offset: number,
  length: number,
  options: ReadOptions,
): Promise<Buffer> {
  const bytes = await source.read(offset, length, options);
  if (bytes.byteLength !== length) {
    throw ioError(source.name, "a read gave another number of bytes than was asked for");
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

interface Directory {
  readonly offset: number;
  readonly size: number;
  readonly entries: number;
}

/**
 * Finds the end record: the one whose comment ends exactly with the archive. Readers differ in
 * which one they take when there are several candidates, so a second one makes the archive refused.
 */
async function readEnd(source: ArchiveSource, options: ReadOptions): Promise<Directory> {
  const tailSize = Math.min(source.sizeBytes, END_BYTES + 0xffff);
  const tailOffset = source.sizeBytes - tailSize;
  const tail = await readBuffer(source, tailOffset, tailSize, options);
  const signature = Buffer.alloc(4);
  signature.writeUInt32LE(END_SIGNATURE);
  const at = tail.lastIndexOf(signature);
  if (at < 0 || at + END_BYTES > tail.length) {
    throw malformed(source, "there is no end of central directory record");
  }
  if (at + END_BYTES + tail.readUInt16LE(at + 20) !== tail.length) {
    throw malformed(source, "it does not end with its end of central directory record");
  }
  const endOffset = tailOffset + at;
  const entriesHere = tail.readUInt16LE(at + 8);
  const entries = tail.readUInt16LE(at + 10);
  const size = tail.readUInt32LE(at + 12);
  const offset = tail.readUInt32LE(at + 16);
  const end64 = await readEnd64(source, endOffset, options);
  if (end64 !== undefined) {
    const agrees =
      [end64.entries, IN_EXTRA_16].includes(entries) &&
      [end64.size, IN_EXTRA_32].includes(size) &&
      [end64.offset, IN_EXTRA_32].includes(offset);
    if (!agrees) throw malformed(source, "its two end records disagree");
    return end64;
  }
  if (
    tail.readUInt16LE(at + 4) !== 0 ||
    tail.readUInt16LE(at + 6) !== 0 ||
    entriesHere !== entries
  ) {
    throw unsupported(source, "it is one of several volumes");
  }
  // Nothing may lie between directory and end record: some readers would shift all offsets by it.
  if (offset + size !== endOffset) throw malformed(source, "the central directory is misplaced");
  return { offset, size, entries };
}

/** The 64-bit end record, if there is a locator for it in front of the end record. */
async function readEnd64(
  source: ArchiveSource,
  endOffset: number,
  options: ReadOptions,
): Promise<Directory | undefined> {
  const locatorOffset = endOffset - LOCATOR64_BYTES;
  if (locatorOffset < END64_BYTES) return undefined;
  const locator = await readBuffer(source, locatorOffset, LOCATOR64_BYTES, options);
  if (locator.readUInt32LE(0) !== LOCATOR64_SIGNATURE) return undefined;
  const recordOffset = Number(locator.readBigUInt64LE(8));
  if (recordOffset + END64_BYTES !== locatorOffset) {
    throw malformed(source, "the 64-bit end record is misplaced");
  }
  const record = await readBuffer(source, recordOffset, END64_BYTES, options);
  if (record.readUInt32LE(0) !== END64_SIGNATURE) {
    throw malformed(source, "there is no 64-bit end record");
  }
  const entries = Number(record.readBigUInt64LE(32));
  const size = Number(record.readBigUInt64LE(40));
  const offset = Number(record.readBigUInt64LE(48));
  if (record.readBigUInt64LE(24) !== record.readBigUInt64LE(32)) {
    throw unsupported(source, "it is one of several volumes");
  }
  if (offset + size !== recordOffset) throw malformed(source, "the central directory is misplaced");
  return { offset, size, entries };
}

/**
 * Reads the central directory. What is returned is consistent in itself: as many entries as
 * announced, none encrypted, each stored or deflated, no two overlapping, all in front of the
 * directory, sizes within the limits.
 */
export async function readZipEntries(
  source: ArchiveSource,
  limits: ResolvedArchiveLimits,
  options: ReadOptions = {},
): Promise<ZipEntry[]> {
  const directory = await readEnd(source, options);
  checkLimit(limits, "maxEntries", directory.entries);
  checkLimit(limits, "maxDirectoryBytes", directory.size);
  const bytes = await readBuffer(source, directory.offset, directory.size, options);
  const entries: Omit<ZipEntry, "limitOffset">[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (at + CENTRAL_BYTES > bytes.length || bytes.readUInt32LE(at) !== CENTRAL_SIGNATURE) {
      throw malformed(source, "there is no entry where the central directory should have one");
    }
    const extraStart = at + CENTRAL_BYTES + bytes.readUInt16LE(at + 28);
    const extraEnd = extraStart + bytes.readUInt16LE(at + 30);
    const next = extraEnd + bytes.readUInt16LE(at + 32);
    if (next > bytes.length) throw malformed(source, "an entry is cut off");
    entries.push(
      parseEntry(source, bytes.subarray(at, extraStart), bytes.subarray(extraStart, extraEnd)),
    );
    if (entries.length > directory.entries) break;
    at = next;
  }
  if (entries.length !== directory.entries) {
    throw malformed(source, "the central directory does not have as many entries as announced");
  }
  checkSizes(entries, limits);
  return withLimitOffsets(source, entries, directory.offset);
}

function parseEntry(
  source: ArchiveSource,
  record: Buffer,
  extra: Buffer,
): Omit<ZipEntry, "limitOffset"> {
  const name = record.subarray(CENTRAL_BYTES);
  const label = name.toString();
  const flags = record.readUInt16LE(8);
  const method = record.readUInt16LE(10);
  if ((flags & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION | FLAG_MASKED_HEADERS)) !== 0) {
    throw unsupported(source, "is encrypted", label);
  }
  if (method !== METHOD_STORED && method !== METHOD_DEFLATED) {
    throw unsupported(
      source,
      `is packed by method ${method}; only deflate and store are known`,
      label,
    );
  }
  const values = readExtra64(extra, [
    record.readUInt32LE(24),
    record.readUInt32LE(20),
    record.readUInt32LE(42),
  ]);
  const [size = -1, packedSize = -1, headerOffset = -1] = values ?? [];
  if (size < 0) throw malformed(source, "a 64-bit size or offset is missing", label);
  if (method === METHOD_STORED && size !== packedSize) {
    throw malformed(source, "the two sizes of a stored entry differ", label);
  }
  return {
    name,
    label,
    flags,
    method,
    crc: record.readUInt32LE(16),
    packedSize,
    size,
    unixMode: UNIX_HOSTS.includes(record.readUInt8(5)) ? record.readUInt16LE(40) : 0,
    headerOffset,
  };
}

function checkSizes(
  entries: readonly Omit<ZipEntry, "limitOffset">[],
  limits: ResolvedArchiveLimits,
): void {
  let total = 0;
  let totalPacked = 0;
  const checkRatio = (size: number, packed: number, label?: string) => {
    if (size > RATIO_FREE_BYTES) {
      checkLimit(limits, "maxRatio", Math.ceil(size / Math.max(packed, 1)), label);
    }
  };
  for (const { size, packedSize, label } of entries) {
    checkLimit(limits, "maxEntryBytes", size, label);
    checkRatio(size, packedSize, label);
    total += size;
    totalPacked += packedSize;
  }
  checkLimit(limits, "maxTotalBytes", total);
  checkRatio(total, totalPacked);
}

/** Entries that share data would let a small archive unpack to any size. */
function withLimitOffsets(
  source: ArchiveSource,
  entries: readonly Omit<ZipEntry, "limitOffset">[],
  directoryOffset: number,
): ZipEntry[] {
  const limits = new Map<number, number>();
  let limit = directoryOffset;
  for (const entry of entries.toSorted((a, b) => b.headerOffset - a.headerOffset)) {
    const { headerOffset, packedSize, name, label } = entry;
    if (headerOffset + LOCAL_BYTES + name.length + packedSize > limit) {
      throw malformed(source, "its data overlaps what follows", label);
    }
    limits.set(headerOffset, limit);
    limit = headerOffset;
  }
  return entries.map((entry) => ({
    ...entry,
    limitOffset: limits.get(entry.headerOffset) ?? directoryOffset,
  }));
}
