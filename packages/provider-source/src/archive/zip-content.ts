import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createInflateRaw } from "node:zlib";
import { ProviderSourceError } from "../errors.ts";
import type { ArchiveSource } from "./archive-source.ts";
import { malformed, type ReadOptions, type ZipEntry } from "./zip-reader.ts";
import {
  FLAG_DESCRIPTOR,
  FLAG_ENCRYPTED,
  IN_EXTRA_32,
  LOCAL_BYTES,
  LOCAL_SIGNATURE,
  METHOD_STORED,
} from "./zip-records.ts";

const CHUNK_BYTES = 256 * 1024;

/**
 * Where the data of an entry starts. Its local header must agree with the central directory, as
 * there are readers that go by the one and readers that go by the other.
 */
async function findData(
  source: ArchiveSource,
  entry: ZipEntry,
  options: ReadOptions,
): Promise<number> {
  const header = Buffer.from(
    await source.read(entry.headerOffset, LOCAL_BYTES + entry.name.length, options),
  );
  const agrees =
    header.readUInt32LE(0) === LOCAL_SIGNATURE &&
    (header.readUInt16LE(6) & FLAG_ENCRYPTED) === 0 &&
    header.readUInt16LE(8) === entry.method &&
    header.readUInt16LE(26) === entry.name.length &&
    header.subarray(LOCAL_BYTES).equals(entry.name);
  const sizesFollow = (header.readUInt16LE(6) & FLAG_DESCRIPTOR) !== 0;
  const sizesAgree =
    header.readUInt32LE(14) === entry.crc &&
    [entry.packedSize, IN_EXTRA_32].includes(header.readUInt32LE(18)) &&
    [entry.size, IN_EXTRA_32].includes(header.readUInt32LE(22));
  if (!agrees || (!sizesFollow && !sizesAgree)) {
    throw malformed(source, "its local header and the central directory disagree", entry.label);
  }
  const start = entry.headerOffset + LOCAL_BYTES + entry.name.length + header.readUInt16LE(28);
  if (start + entry.packedSize > entry.limitOffset) {
    throw malformed(source, "its data overlaps what follows", entry.label);
  }
  return start;
}

async function* readRaw(
  source: ArchiveSource,
  start: number,
  length: number,
  options: ReadOptions,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < length; ) {
    options.signal?.throwIfAborted();
    const chunk = await source.read(start + at, Math.min(CHUNK_BYTES, length - at), options);
    at += chunk.byteLength;
    yield chunk;
  }
}

/** Inflates; the data must end exactly where the entry ends. */
async function* inflate(
  source: ArchiveSource,
  entry: ZipEntry,
  raw: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const inflater = createInflateRaw({ chunkSize: CHUNK_BYTES });
  let failure: unknown;
  const fed = pipeline(Readable.from(raw), inflater).catch((error: unknown) => {
    failure = error;
  });
  try {
    for await (const chunk of inflater) yield chunk as Uint8Array;
  } catch (error) {
    await fed;
    const cause = failure ?? error;
    if (ProviderSourceError.is(cause) || !isZlibError(cause)) throw cause;
    throw malformed(source, "its compressed data is damaged", entry.label);
  } finally {
    inflater.destroy();
    await fed;
  }
  if (inflater.bytesWritten !== entry.packedSize) {
    throw malformed(source, "there is something behind its compressed data", entry.label);
  }
}

function isZlibError(error: unknown): boolean {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return code !== undefined && code.startsWith("Z_");
}

/**
 * Streams the content of an entry. Never gives more bytes than the central directory announces;
 * throws `PROVIDER_SOURCE_ARCHIVE_MALFORMED` if there are more or fewer, or the checksum is wrong.
 */
export async function* readZipContent(
  source: ArchiveSource,
  entry: ZipEntry,
  options: ReadOptions = {},
): AsyncGenerator<Uint8Array> {
  const start = await findData(source, entry, options);
  const raw = readRaw(source, start, entry.packedSize, options);
  let size = 0;
  let crc = 0;
  for await (const chunk of entry.method === METHOD_STORED ? raw : inflate(source, entry, raw)) {
    size += chunk.byteLength;
    if (size > entry.size) {
      throw malformed(source, "it is larger than announced", entry.label);
    }
    crc = crc32(chunk, crc);
    yield chunk;
  }
  if (size !== entry.size) throw malformed(source, "it is smaller than announced", entry.label);
  if (crc !== entry.crc) throw malformed(source, "its checksum is wrong", entry.label);
}
