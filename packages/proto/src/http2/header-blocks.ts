import { Http2ProtocolError } from "./error-codes.ts";
import { FLAG, FRAME } from "./frame.ts";
import type { HeaderList } from "./header-block.ts";
import { HpackDecoder } from "./hpack-decoder.ts";

/** A peer sends few different blocks of headers; those with a text of their own are not worth keeping. */
const KEPT_BLOCKS = 64;
const KEPT_BYTES = 256;

/** Headers that have come in whole. */
interface ReceivedHeaders {
  readonly headers: HeaderList;
  readonly isEnd: boolean;
}

interface OpenBlock {
  readonly streamId: number;
  readonly isEnd: boolean;
  readonly parts: Buffer[];
  bytes: number;
}

/**
 * Puts blocks of headers together from HEADERS and CONTINUATION frames, and decodes them. While one is open, no other
 * frame may come. While the table does not change, equal blocks are equal headers, so that frequent ones are decoded once.
 */
export class HeaderBlocks {
  readonly #limitBytes: number;
  readonly #decoder: HpackDecoder;
  readonly #known = new Map<string, HeaderList>();
  /** The revision of the table that `#known` is of. */
  #knownRevision = 0;
  #open: OpenBlock | undefined;

  /** @param tableBytes the dynamic table that the peer has been asked for */
  constructor(limitBytes: number, tableBytes: number) {
    this.#limitBytes = limitBytes;
    this.#decoder = new HpackDecoder(tableBytes);
  }

  /** Given every frame; the headers of one that completes a block. */
  take(
    type: number,
    flags: number,
    streamId: number,
    payload: Buffer,
  ): ReceivedHeaders | undefined {
    if (this.#open !== undefined) return this.#continue(this.#open, type, flags, streamId, payload);
    if (type === FRAME.CONTINUATION) {
      throw new Http2ProtocolError("PROTOCOL_ERROR", "a continuation of nothing");
    }
    if (type !== FRAME.HEADERS) return undefined;
    const block = blockOf(flags, payload);
    const isEnd = (flags & FLAG.END_STREAM) !== 0;
    if ((flags & FLAG.END_HEADERS) !== 0) return { headers: this.#decode(block), isEnd };
    this.#open = { streamId, isEnd, parts: [Buffer.from(block)], bytes: block.length };
    return undefined;
  }

  #continue(
    open: OpenBlock,
    type: number,
    flags: number,
    streamId: number,
    payload: Buffer,
  ): ReceivedHeaders | undefined {
    if (type !== FRAME.CONTINUATION || streamId !== open.streamId) {
      throw new Http2ProtocolError("PROTOCOL_ERROR", "a frame in the middle of headers");
    }
    open.bytes += payload.length;
    // Empty continuations cost nothing to send, so each counts for something.
    if (open.bytes > this.#limitBytes || open.parts.length > this.#limitBytes / 32) {
      const text = `a block of headers is larger than ${this.#limitBytes} bytes`;
      throw new Http2ProtocolError("ENHANCE_YOUR_CALM", text);
    }
    open.parts.push(Buffer.from(payload));
    if ((flags & FLAG.END_HEADERS) === 0) return undefined;
    this.#open = undefined;
    return { headers: this.#decode(Buffer.concat(open.parts)), isEnd: open.isEnd };
  }

  #decode(block: Buffer): HeaderList {
    if (block.length > KEPT_BYTES) return this.#decoder.decode(block, this.#limitBytes);
    if (this.#knownRevision !== this.#decoder.revision) {
      this.#known.clear();
      this.#knownRevision = this.#decoder.revision;
    }
    const key = block.toString("latin1");
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const headers = this.#decoder.decode(block, this.#limitBytes);
    const isUnchanged = this.#knownRevision === this.#decoder.revision;
    if (isUnchanged && this.#known.size < KEPT_BLOCKS) this.#known.set(key, headers);
    return headers;
  }
}

/** Source: RFC 9113, section 6.2. */
function blockOf(flags: number, payload: Buffer): Buffer {
  let start = 0;
  let end = payload.length;
  if ((flags & FLAG.PADDED) !== 0) {
    end -= payload[0] ?? payload.length;
    start = 1;
  }
  if ((flags & FLAG.PRIORITY) !== 0) start += 5;
  if (start > end) {
    throw new Http2ProtocolError("PROTOCOL_ERROR", "headers are padded by more than they have");
  }
  return payload.subarray(start, end);
}
