import { Http2ProtocolError } from "./error-codes.ts";
import {
  DEFAULT_FRAME_BYTES,
  DEFAULT_WINDOW_BYTES,
  dataFrames,
  headersFrames,
  LARGEST_FRAME_BYTES,
  LARGEST_WINDOW_BYTES,
  SETTING,
} from "./frame.ts";
import type { Http2Stream } from "./http2-stream.ts";
import type { Outbox } from "./outbox.ts";

/** The table of headers that a connection begins with. Source: RFC 9113, section 6.5.2. */
const DEFAULT_TABLE_BYTES = 4096;
/** In front of a block of headers: the table has no bytes from here on. Source: RFC 7541, section 6.3. */
const NO_TABLE = Buffer.from([0x20]);

/**
 * What the peer lets this side send: the windows of the streams and of the connection, the size of frames, and the table of
 * headers, which is not used.
 *
 * Invariants: a stream is in `#blocked` only while it has bytes and a window of its own, and the connection's window is used up.
 * What needs no window (headers, and an end without bytes) waits only for what was written before it.
 *
 * Source: RFC 9113, section 5.2 and 6.9; RFC 7541, section 4.2.
 */
export class SendWindows {
  readonly #outbox: Outbox;
  readonly #onEndSent: ((stream: Http2Stream) => void) | undefined;
  readonly #blocked = new Set<Http2Stream>();
  #connection = DEFAULT_WINDOW_BYTES;
  #initial = DEFAULT_WINDOW_BYTES;
  /** What {@link applySettings} makes of `#initial`. */
  #nextInitial = DEFAULT_WINDOW_BYTES;
  /** The largest frame that the peer takes. */
  #frameBytes = DEFAULT_FRAME_BYTES;
  /** The table that the peer knows this side to have. */
  #tableBytes = DEFAULT_TABLE_BYTES;
  #isTableTooLarge = false;

  /** @param onEndSent called when the last frame of a stream was written */
  constructor(outbox: Outbox, onEndSent?: (stream: Http2Stream) => void) {
    this.#outbox = outbox;
    this.#onEndSent = onEndSent;
  }

  begin(stream: Http2Stream): void {
    stream.sendWindow = this.#initial;
  }

  /** Sends what the windows let pass. */
  send(stream: Http2Stream): void {
    while (this.#sendPart(stream, LARGEST_WINDOW_BYTES)) continue;
  }

  forget(stream: Http2Stream): void {
    this.#blocked.delete(stream);
  }

  clear(): void {
    this.#blocked.clear();
  }

  /** Sends headers at once, which no window limits. */
  sendHeaders(stream: Http2Stream, block: Buffer, isEnd: boolean): void {
    const bytes = this.#isTableTooLarge ? Buffer.concat([NO_TABLE, block]) : block;
    if (this.#isTableTooLarge) this.#tableBytes = 0;
    this.#isTableTooLarge = false;
    this.#outbox.push(headersFrames(stream.id, bytes, isEnd, this.#frameBytes));
  }

  /** Takes a setting that concerns what is sent; others are ignored. {@link applySettings} follows the last one of a frame. */
  takeSetting(setting: number, value: number): void {
    if (setting === SETTING.MAX_FRAME_SIZE) {
      if (value < DEFAULT_FRAME_BYTES || value > LARGEST_FRAME_BYTES) {
        throw new Http2ProtocolError("PROTOCOL_ERROR", `frames of ${value} bytes`);
      }
      this.#frameBytes = value;
    } else if (setting === SETTING.INITIAL_WINDOW_SIZE) {
      if (value > LARGEST_WINDOW_BYTES) {
        throw new Http2ProtocolError("FLOW_CONTROL_ERROR", `a window of ${value} bytes`);
      }
      this.#nextInitial = value;
    } else if (setting === SETTING.HEADER_TABLE_SIZE && value < this.#tableBytes) {
      this.#isTableTooLarge = true;
    }
  }

  /** Gives streams that have begun the window of the settings: once for a frame, however often it names it. */
  applySettings(streams: Iterable<Http2Stream>): void {
    const change = this.#nextInitial - this.#initial;
    if (change === 0) return;
    this.#initial = this.#nextInitial;
    for (const stream of streams) this.widen(stream, change);
  }

  widen(stream: Http2Stream, bytes: number): void {
    stream.sendWindow += bytes;
    if (stream.sendWindow > LARGEST_WINDOW_BYTES) {
      throw new Http2ProtocolError("FLOW_CONTROL_ERROR", "a window is too large");
    }
    this.send(stream);
  }

  widenConnection(bytes: number): void {
    this.#connection += bytes;
    if (this.#connection > LARGEST_WINDOW_BYTES) {
      throw new Http2ProtocolError("FLOW_CONTROL_ERROR", "the window is too large");
    }
    this.#sendBlocked();
  }

  /** Sends at most `most` bytes of what waits; false where nothing may be sent now. */
  #sendPart(stream: Http2Stream, most: number): boolean {
    const [part] = stream.pending;
    if (part === undefined) return false;
    if (part.kind === "headers") {
      this.sendHeaders(stream, part.bytes, part.isEnd);
      this.#sent(stream, part.isEnd);
      return true;
    }
    // A window may be below zero. Source: RFC 9113, section 6.9.2.
    const room = Math.max(0, Math.min(stream.sendWindow, this.#connection, most));
    if (room === 0 && part.bytes.length > 0) {
      if (stream.sendWindow > 0) this.#blocked.add(stream);
      else this.#blocked.delete(stream);
      return false;
    }
    const isWhole = part.bytes.length <= room;
    const bytes = isWhole ? part.bytes : part.bytes.subarray(0, room);
    const frames = dataFrames(stream.id, bytes, isWhole && part.isEnd, this.#frameBytes);
    this.#outbox.push(frames, isWhole ? part.onSent : undefined);
    stream.sendWindow -= bytes.length;
    this.#connection -= bytes.length;
    if (isWhole) this.#sent(stream, part.isEnd);
    else part.bytes = part.bytes.subarray(room);
    return true;
  }

  #sent(stream: Http2Stream, isEnd: boolean): void {
    stream.pending.shift();
    if (isEnd) this.#onEndSent?.(stream);
  }

  /** Shares what the connection's window has got among the streams that wait for it, frame by frame. */
  #sendBlocked(): void {
    for (const stream of this.#blocked) {
      if (this.#connection <= 0) return;
      this.#blocked.delete(stream);
      if (!this.#sendPart(stream, this.#frameBytes)) continue;
      while (needsNoWindow(stream)) this.#sendPart(stream, 0);
      // What is added again comes last, and is met again by this loop.
      if (stream.pending.length > 0 && stream.sendWindow > 0) this.#blocked.add(stream);
    }
  }
}

function needsNoWindow({ pending: [part] }: Http2Stream): boolean {
  return part !== undefined && (part.kind === "headers" || part.bytes.length === 0);
}
