import { Http2ProtocolError } from "./error-codes.ts";
import type { HeaderList } from "./header-block.ts";
import { decodeHuffman } from "./huffman.ts";

/** What an index of 1 to 61 stands for. Source: RFC 7541, appendix A. */
const STATIC_TABLE: HeaderList = [
  [":authority", ""],
  [":method", "GET"],
  [":method", "POST"],
  [":path", "/"],
  [":path", "/index.html"],
  [":scheme", "http"],
  [":scheme", "https"],
  [":status", "200"],
  [":status", "204"],
  [":status", "206"],
  [":status", "304"],
  [":status", "400"],
  [":status", "404"],
  [":status", "500"],
  ["accept-charset", ""],
  ["accept-encoding", "gzip, deflate"],
  ["accept-language", ""],
  ["accept-ranges", ""],
  ["accept", ""],
  ["access-control-allow-origin", ""],
  ["age", ""],
  ["allow", ""],
  ["authorization", ""],
  ["cache-control", ""],
  ["content-disposition", ""],
  ["content-encoding", ""],
  ["content-language", ""],
  ["content-length", ""],
  ["content-location", ""],
  ["content-range", ""],
  ["content-type", ""],
  ["cookie", ""],
  ["date", ""],
  ["etag", ""],
  ["expect", ""],
  ["expires", ""],
  ["from", ""],
  ["host", ""],
  ["if-match", ""],
  ["if-modified-since", ""],
  ["if-none-match", ""],
  ["if-range", ""],
  ["if-unmodified-since", ""],
  ["last-modified", ""],
  ["link", ""],
  ["location", ""],
  ["max-forwards", ""],
  ["proxy-authenticate", ""],
  ["proxy-authorization", ""],
  ["range", ""],
  ["referer", ""],
  ["refresh", ""],
  ["retry-after", ""],
  ["server", ""],
  ["set-cookie", ""],
  ["strict-transport-security", ""],
  ["transfer-encoding", ""],
  ["user-agent", ""],
  ["vary", ""],
  ["via", ""],
  ["www-authenticate", ""],
];

/**
 * What a header counts for beside its text, as HTTP/2 has it. A block of one byte per header would otherwise become
 * many times as large in memory.
 */
const HEADER_OVERHEAD_BYTES = 32;
/** A size that no header reaches, above which integers are refused. */
const LARGEST_INTEGER = 2 ** 28;

/**
 * Decodes the header blocks of one peer, in their order: with a table, a block may refer to what came before it. With a table of no
 * bytes it refers to nothing, and equal bytes are always equal headers.
 */
export class HpackDecoder {
  readonly #table: DynamicTable;

  /** @param tableBytes the largest dynamic table, which the peer has been asked for */
  constructor(tableBytes: number) {
    this.#table = new DynamicTable(tableBytes);
  }

  /** Rises with every change of the table: between changes equal bytes are equal headers. */
  get revision(): number {
    return this.#table.revision;
  }

  /** Throws an {@link Http2ProtocolError}: COMPRESSION_ERROR, or ENHANCE_YOUR_CALM for more than `limitBytes` of headers. */
  decode(block: Uint8Array, limitBytes: number): HeaderList {
    return new BlockDecoder(block, limitBytes, this.#table).decode();
  }
}

/** The headers that a peer has sent with indexing, the newest first. Source: RFC 7541, section 2.3.2. */
class DynamicTable {
  revision = 0;
  readonly #mostBytes: number;
  readonly #entries: (readonly [string, string])[] = [];
  #maxBytes: number;
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
    this.#maxBytes = mostBytes;
  }

  at(index: number): readonly [string, string] | undefined {
    return this.#entries[index];
  }

  add(entry: readonly [string, string]): void {
    if (this.#maxBytes === 0) return;
    this.revision += 1;
    const bytes = bytesOf(entry);
    this.#evict(this.#maxBytes - bytes);
    // One that is larger than the table empties it, and is not an error.
    if (bytes > this.#maxBytes) return;
    this.#entries.unshift(entry);
    this.#bytes += bytes;
  }

  resize(maxBytes: number): void {
    if (maxBytes > this.#mostBytes)
      throw invalid("the table of headers is larger than was asked for");
    if (maxBytes === this.#maxBytes) return;
    this.revision += 1;
    this.#maxBytes = maxBytes;
    this.#evict(maxBytes);
  }

  #evict(roomBytes: number): void {
    while (this.#bytes > roomBytes) {
      const oldest = this.#entries.pop();
      if (oldest === undefined) return;
      this.#bytes -= bytesOf(oldest);
    }
  }
}

function bytesOf([name, value]: readonly [string, string]): number {
  return name.length + value.length + HEADER_OVERHEAD_BYTES;
}

class BlockDecoder {
  readonly #block: Uint8Array;
  readonly #limitBytes: number;
  readonly #table: DynamicTable;
  #offset = 0;

  constructor(block: Uint8Array, limitBytes: number, table: DynamicTable) {
    this.#block = block;
    this.#limitBytes = limitBytes;
    this.#table = table;
  }

  decode(): HeaderList {
    const headers: (readonly [string, string])[] = [];
    let bytes = 0;
    while (this.#offset < this.#block.length) {
      const header = this.#next();
      if (header === undefined) {
        if (headers.length > 0) throw invalid("a table is resized after the first header");
        continue;
      }
      headers.push(header);
      bytes += bytesOf(header);
      if (bytes > this.#limitBytes) {
        const text = `a block of headers is larger than ${this.#limitBytes} bytes`;
        throw new Http2ProtocolError("ENHANCE_YOUR_CALM", text);
      }
    }
    return headers;
  }

  /** The next header; undefined for a change of the table's size. */
  #next(): readonly [string, string] | undefined {
    const first = this.#block[this.#offset] as number;
    if (first >= 0x80) return this.#entryAt(this.#integer(7));
    if (first >= 0x40) {
      const header = this.#literal(6);
      this.#table.add(header);
      return header;
    }
    if (first < 0x20) return this.#literal(4);
    this.#table.resize(this.#integer(5));
    return undefined;
  }

  #literal(prefixBits: number): readonly [string, string] {
    const index = this.#integer(prefixBits);
    const name = index === 0 ? this.#string() : this.#entryAt(index)[0];
    return [name, this.#string()];
  }

  #entryAt(index: number): readonly [string, string] {
    const entry = STATIC_TABLE[index - 1] ?? this.#table.at(index - STATIC_TABLE.length - 1);
    if (entry === undefined) throw invalid(`there is no header with index ${index}`);
    return entry;
  }

  /** Source: RFC 7541, section 5.1. */
  #integer(prefixBits: number): number {
    const most = 2 ** prefixBits - 1;
    let value = this.#byte() & most;
    if (value < most) return value;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (value > LARGEST_INTEGER || factor > LARGEST_INTEGER)
        throw invalid("a number is too large");
      if (byte < 0x80) return value;
    }
  }

  #string(): string {
    const isHuffman = ((this.#block[this.#offset] ?? 0) & 0x80) !== 0;
    const length = this.#integer(7);
    const end = this.#offset + length;
    if (end > this.#block.length) throw invalid("a block of headers is cut off");
    const bytes = this.#block.subarray(this.#offset, end);
    this.#offset = end;
    return (isHuffman ? decodeHuffman(bytes) : Buffer.from(bytes)).toString("latin1");
  }

  #byte(): number {
    const byte = this.#block[this.#offset];
    if (byte === undefined) throw invalid("a block of headers is cut off");
    this.#offset += 1;
    return byte;
  }
}

function invalid(text: string): Http2ProtocolError {
  return new Http2ProtocolError("COMPRESSION_ERROR", text);
}
