/** Kinds of frames. Source: RFC 9113, section 6. */
export const FRAME = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

export const FLAG = {
  END_STREAM: 0x1,
  ACK: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const;

/** Source: RFC 9113, section 6.5.2. */
export const SETTING = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
} as const;

/** What a client sends before its first frame. */
export const CLIENT_PREFACE: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

export const FRAME_HEADER_BYTES = 9;
export const DEFAULT_FRAME_BYTES = 16_384;
export const LARGEST_FRAME_BYTES = 2 ** 24 - 1;
export const DEFAULT_WINDOW_BYTES = 65_535;
/** The largest window, stream id and increment. */
export const LARGEST_WINDOW_BYTES = 2 ** 31 - 1;

/** Writes the header of a frame at `offset`. */
export function writeFrameHeader(
  target: Buffer,
  offset: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): void {
  target[offset] = length >>> 16;
  target[offset + 1] = length >>> 8;
  target[offset + 2] = length;
  target[offset + 3] = type;
  target[offset + 4] = flags;
  target.writeUInt32BE(streamId, offset + 5);
}

function frame(type: number, flags: number, streamId: number, length: number): Buffer {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES + length);
  writeFrameHeader(bytes, 0, length, type, flags, streamId);
  return bytes;
}

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const bytes = frame(FRAME.SETTINGS, 0, 0, settings.length * 6);
  let offset = FRAME_HEADER_BYTES;
  for (const [id, value] of settings) {
    bytes.writeUInt16BE(id, offset);
    bytes.writeUInt32BE(value, offset + 2);
    offset += 6;
  }
  return bytes;
}

export function settingsAckFrame(): Buffer {
  return frame(FRAME.SETTINGS, FLAG.ACK, 0, 0);
}

export function pingAckFrame(payload: Uint8Array): Buffer {
  const bytes = frame(FRAME.PING, FLAG.ACK, 0, payload.length);
  bytes.set(payload, FRAME_HEADER_BYTES);
  return bytes;
}

export function windowUpdateFrame(streamId: number, increment: number): Buffer {
  const bytes = frame(FRAME.WINDOW_UPDATE, 0, streamId, 4);
  bytes.writeUInt32BE(increment, FRAME_HEADER_BYTES);
  return bytes;
}

export function resetFrame(streamId: number, code: number): Buffer {
  const bytes = frame(FRAME.RST_STREAM, 0, streamId, 4);
  bytes.writeUInt32BE(code, FRAME_HEADER_BYTES);
  return bytes;
}

export function goAwayFrame(lastStreamId: number, code: number): Buffer {
  const bytes = frame(FRAME.GOAWAY, 0, 0, 8);
  bytes.writeUInt32BE(lastStreamId, FRAME_HEADER_BYTES);
  bytes.writeUInt32BE(code, FRAME_HEADER_BYTES + 4);
  return bytes;
}

/** A block of headers in as many frames as it takes. */
export function headersFrames(
  streamId: number,
  block: Buffer,
  isEnd: boolean,
  frameBytes: number,
): Buffer {
  const frames = Math.max(1, Math.ceil(block.length / frameBytes));
  const bytes = Buffer.allocUnsafe(block.length + frames * FRAME_HEADER_BYTES);
  let offset = 0;
  for (let index = 0; index < frames; index += 1) {
    const part = block.subarray(index * frameBytes, (index + 1) * frameBytes);
    const type = index === 0 ? FRAME.HEADERS : FRAME.CONTINUATION;
    const flags =
      (index === frames - 1 ? FLAG.END_HEADERS : 0) | (index === 0 && isEnd ? FLAG.END_STREAM : 0);
    writeFrameHeader(bytes, offset, part.length, type, flags, streamId);
    bytes.set(part, offset + FRAME_HEADER_BYTES);
    offset += FRAME_HEADER_BYTES + part.length;
  }
  return bytes;
}

/** Bytes of a body in frames of at most `frameBytes`. */
export function dataFrames(
  streamId: number,
  body: Buffer,
  isEnd: boolean,
  frameBytes: number,
): Buffer {
  const frames = Math.max(1, Math.ceil(body.length / frameBytes));
  const bytes = Buffer.allocUnsafe(body.length + frames * FRAME_HEADER_BYTES);
  let offset = 0;
  for (let index = 0; index < frames; index += 1) {
    const part = body.subarray(index * frameBytes, (index + 1) * frameBytes);
    const flags = isEnd && index === frames - 1 ? FLAG.END_STREAM : 0;
    writeFrameHeader(bytes, offset, part.length, FRAME.DATA, flags, streamId);
    bytes.set(part, offset + FRAME_HEADER_BYTES);
    offset += FRAME_HEADER_BYTES + part.length;
  }
  return bytes;
}
