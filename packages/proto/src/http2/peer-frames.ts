import { Http2ProtocolError } from "./error-codes.ts";
import { DEFAULT_WINDOW_BYTES, FLAG, LARGEST_WINDOW_BYTES, windowUpdateFrame } from "./frame.ts";
import type { Http2Stream } from "./http2-stream.ts";
import type { Outbox } from "./outbox.ts";

/* What both sides of a connection do with the frames of their peer. Source: RFC 9113, section 6. */

/** After so many bytes the peer may send as many more on the connection. */
const CONNECTION_UPDATE_BYTES = 2 ** 24;
/** A peer that asks for so many answers to pings and settings, and reads none of them, is cut off. */
const MAX_ANSWERS = 10_000;

/** Answers to what a peer asks of the connection; bounded by those that it has not read. */
export class Answers {
  readonly #outbox: Outbox;
  #underWay = 0;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  send(frame: Buffer): void {
    if (this.#underWay >= MAX_ANSWERS) {
      throw new Http2ProtocolError("ENHANCE_YOUR_CALM", "answers are asked for and not read");
    }
    this.#underWay += 1;
    this.#outbox.push(frame, this.#onAnswered);
  }

  readonly #onAnswered = (): void => {
    this.#underWay -= 1;
  };
}

/** The window of the connection as a whole, which is as wide as can be: streams have windows of their own. */
export class ConnectionReceipts {
  readonly #outbox: Outbox;
  #bytes = 0;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  open(): void {
    this.#outbox.push(windowUpdateFrame(0, LARGEST_WINDOW_BYTES - DEFAULT_WINDOW_BYTES));
  }

  take(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < CONNECTION_UPDATE_BYTES) return;
    this.#outbox.push(windowUpdateFrame(0, this.#bytes));
    this.#bytes = 0;
  }
}

/** What a DATA frame has of the body, without its padding. */
export function bodyOf(flags: number, payload: Buffer): Buffer {
  if ((flags & FLAG.PADDED) === 0) return payload;
  const padding = payload[0];
  if (padding === undefined || padding >= payload.length) {
    throw new Http2ProtocolError("PROTOCOL_ERROR", "a frame is padded by more than it has");
  }
  return payload.subarray(1, payload.length - padding);
}

/** Counts a DATA frame against the window of its stream. Padding is not consumed by a listener, and is released here. */
export function takeFromWindow(stream: Http2Stream, payload: Buffer, body: Buffer): void {
  stream.receiveWindow -= payload.length;
  if (stream.receiveWindow < 0) {
    throw new Http2ProtocolError("FLOW_CONTROL_ERROR", "more was sent than the window allows");
  }
  if (body.length < payload.length) stream.release(payload.length - body.length);
}

/** Visits the settings of a SETTINGS frame. False for an acknowledgement, which has none and wants no answer. */
export function readSettings(
  flags: number,
  id: number,
  payload: Buffer,
  visit: (setting: number, value: number) => void,
): boolean {
  if (id !== 0) throw new Http2ProtocolError("PROTOCOL_ERROR", "settings of a stream");
  if ((flags & FLAG.ACK) !== 0) {
    if (payload.length !== 0) throw wrongSize("SETTINGS");
    return false;
  }
  if (payload.length % 6 !== 0) throw wrongSize("SETTINGS");
  for (let offset = 0; offset < payload.length; offset += 6) {
    visit(payload.readUInt16BE(offset), payload.readUInt32BE(offset + 2));
  }
  return true;
}

/** Whether a PING wants an answer. */
export function checkPing(flags: number, id: number, payload: Buffer): boolean {
  if (id !== 0) throw new Http2ProtocolError("PROTOCOL_ERROR", "a ping of a stream");
  if (payload.length !== 8) throw wrongSize("PING");
  return (flags & FLAG.ACK) === 0;
}

export function resetCode(payload: Buffer): number {
  if (payload.length !== 4) throw wrongSize("RST_STREAM");
  return payload.readUInt32BE(0);
}

export function windowIncrement(payload: Buffer): number {
  if (payload.length !== 4) throw wrongSize("WINDOW_UPDATE");
  const increment = payload.readUInt32BE(0) & 0x7fffffff;
  if (increment === 0) {
    throw new Http2ProtocolError("PROTOCOL_ERROR", "a window is widened by nothing");
  }
  return increment;
}

export function wrongSize(type: string): Http2ProtocolError {
  return new Http2ProtocolError("FRAME_SIZE_ERROR", `a ${type} frame of a wrong size`);
}
