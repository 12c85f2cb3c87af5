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
 * Decodes the header blocks of a peer that has been asked for a dynamic table of no bytes: so a block refers to nothing
 * that came before it, and equal bytes are equal headers.
 *
 * Throws an {@link Http2ProtocolError}: COMPRESSION_ERROR, or ENHANCE_YOUR_CALM for more than `limitBytes` of headers.
 */
export function decodeHeaders(block: Uint8Array, limitBytes: number): HeaderList {
  return new BlockDecoder(block, limitBytes).decode();
}

class BlockDecoder {
  readonly #block: Uint8Array;
  readonly #limitBytes: number;
  #offset = 0;

  constructor(block: Uint8Array, limitBytes: number) {
    this.#block = block;
    this.#limitBytes = limitBytes;
  }

  decode(): HeaderList {
    const headers: [string, string][] = [];
    let bytes = 0;
    while (this.#offset < this.#block.length) {
      const header = this.#next();
      if (header === undefined) {
        if (headers.length > 0) throw invalid("a table is resized after the first header");
        continue;
      }
      headers.push(header);
      bytes += header[0].length + header[1].length + HEADER_OVERHEAD_BYTES;
      if (bytes > this.#limitBytes) {
        const text = `a block of headers is larger than ${this.#limitBytes} bytes`;
        throw new Http2ProtocolError("ENHANCE_YOUR_CALM", text);
      }
    }
    return headers;
  }

  /** The next header; undefined for a change of the table's size. */
  #next(): [string, string] | undefined {
    const first = this.#block[this.#offset] as number;
    if (first >= 0x80) {
      const [name, value] = entryAt(this.#integer(7));
      return [name, value];
    }
    // A literal that is to be indexed: the table holds nothing, so that it is dropped again.
    if (first >= 0x40) return this.#literal(6);
    if (first < 0x20) return this.#literal(4);
    if (this.#integer(5) !== 0) throw invalid("the table of headers is larger than was asked for");
    return undefined;
  }

  #literal(prefixBits: number): [string, string] {
    const index = this.#integer(prefixBits);
    const name = index === 0 ? this.#string() : entryAt(index)[0];
    return [name, this.#string()];
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

function entryAt(index: number): readonly [string, string] {
  const entry = STATIC_TABLE[index - 1];
  if (entry === undefined) throw invalid(`there is no header with index ${index}`);
  return entry;
}

function invalid(text: string): Http2ProtocolError {
  return new Http2ProtocolError("COMPRESSION_ERROR", text);
}
