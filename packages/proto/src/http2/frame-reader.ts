import { Http2ProtocolError } from "./error-codes.ts";
import { FRAME_HEADER_BYTES } from "./frame.ts";

/** Takes what arrives, frame by frame. The payload is a view of what was received. */
type FrameHandler = (type: number, flags: number, streamId: number, payload: Buffer) => void;

/**
 * Cuts what a connection receives into frames, however it is split. Holds at most one frame that is not complete:
 * larger ones than `frameBytes` are refused when their length is known.
 */
export class FrameReader {
  readonly #frameBytes: number;
  readonly #onFrame: FrameHandler;
  #rest: Buffer = EMPTY;

  constructor(frameBytes: number, onFrame: FrameHandler) {
    this.#frameBytes = frameBytes;
    this.#onFrame = onFrame;
  }

  /** Throws an {@link Http2ProtocolError}, and what `onFrame` throws. */
  push(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = EMPTY;
    let offset = 0;
    while (bytes.length - offset >= FRAME_HEADER_BYTES) {
      const length = bytes.readUIntBE(offset, 3);
      if (length > this.#frameBytes) {
        const text = `a frame of ${length} bytes is larger than ${this.#frameBytes}`;
        throw new Http2ProtocolError("FRAME_SIZE_ERROR", text);
      }
      const end = offset + FRAME_HEADER_BYTES + length;
      if (end > bytes.length) break;
      const payload = bytes.subarray(offset + FRAME_HEADER_BYTES, end);
      const streamId = bytes.readUInt32BE(offset + 5) & 0x7fffffff;
      this.#onFrame(bytes[offset + 3] as number, bytes[offset + 4] as number, streamId, payload);
      offset = end;
    }
    if (offset < bytes.length) this.#rest = bytes.subarray(offset);
  }
}

const EMPTY = Buffer.alloc(0);
