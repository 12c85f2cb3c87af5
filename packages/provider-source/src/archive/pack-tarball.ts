import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { ProviderSourceError } from "../errors.ts";
import { RECORD_BYTES } from "./tar-records.ts";

/** A file for {@link packTarball}. */
export interface TarballEntry {
  /** Relative, with slashes. */
  readonly path: string;
  readonly executable: boolean;
  readonly size: number;
  readonly content: () => AsyncIterable<Uint8Array>;
}

/** Name of the header that carries a long or non-ASCII path. */
const PAX_NAME = "PaxHeader";

/**
 * A gzip-compressed tar archive (ustar with extended headers) of files, as a stream. Equal files give equal bytes: owner and times are
 * zero. Throws `PROVIDER_SOURCE_PACKAGE_UNREADABLE` where a file has another size than its entry.
 */
export async function* packTarball(
  entries: Iterable<TarballEntry>,
  { signal }: { readonly signal?: AbortSignal } = {},
): AsyncGenerator<Uint8Array> {
  const gzip = createGzip();
  let failure: unknown;
  pipeline(Readable.from(recordsOf(entries, signal)), gzip, (error) => {
    failure = error ?? undefined;
  });
  try {
    for await (const chunk of gzip as AsyncIterable<Uint8Array>) yield chunk;
  } catch (error) {
    signal?.throwIfAborted();
    throw failure ?? error;
  } finally {
    gzip.destroy();
  }
}

async function* recordsOf(
  entries: Iterable<TarballEntry>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  for (const { path, executable, size, content } of entries) {
    signal?.throwIfAborted();
    if (!isShort(path)) {
      const member = paxMember("path", path);
      yield header(PAX_NAME, "x", member.length, 0o644);
      yield member;
      yield padding(member.length);
    }
    const name = isShort(path) ? path : PAX_NAME;
    yield header(name, "0", size, executable ? 0o755 : 0o644);
    let read = 0;
    for await (const chunk of content()) {
      signal?.throwIfAborted();
      read += chunk.byteLength;
      if (read > size) break;
      yield chunk;
    }
    if (read !== size) {
      throw new ProviderSourceError(
        "PROVIDER_SOURCE_PACKAGE_UNREADABLE",
        `Cannot pack ${path}: its size changed while it was read.`,
        { path },
      );
    }
    yield padding(size);
  }
  yield Buffer.alloc(2 * RECORD_BYTES);
}

function isShort(path: string): boolean {
  return /^[\x20-\x7e]{1,100}$/.test(path);
}

function header(name: string, type: "0" | "x", size: number, mode: number): Buffer {
  const record = Buffer.alloc(RECORD_BYTES);
  const octal = (value: number, at: number, length: number): void => {
    record.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at);
  };
  record.write(name, 0, 100);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  // 8 GiB and more do not fit; limits of archives are far below.
  octal(size, 124, 12);
  octal(0, 136, 12);
  record.write("        ", 148);
  record.write(type, 156);
  record.write("ustar\x0000", 257, "latin1");
  let sum = 0;
  for (const byte of record) sum += byte;
  record.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return record;
}

/** `<length> <key>=<value>\n`, where the length counts itself. */
function paxMember(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes;
  while (length !== bytes + String(length).length) length = bytes + String(length).length;
  return Buffer.from(`${length}${rest}`);
}

function padding(size: number): Buffer {
  return Buffer.alloc((RECORD_BYTES - (size % RECORD_BYTES)) % RECORD_BYTES);
}
