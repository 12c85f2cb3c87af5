import type { RpcCode } from "../codes.ts";
import { RpcError } from "../rpc-error.ts";

/** Before each message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/** A message with what goes before it on the wire. */
export function frameMessage(message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, PREFIX_BYTES);
  return bytes;
}

/**
 * Cuts the body of a call into messages, however it is split. What a message needs is held and no more: a length over the
 * limit is refused when it is known.
 */
export class MessageReader {
  readonly #limitBytes: number;
  readonly #compressedCode: RpcCode;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Of the message that has begun, once its length is known. */
  #wantedBytes = 0;

  /** @param compressedCode what a compressed message is: none was asked for */
  constructor(limitBytes: number, compressedCode: RpcCode) {
    this.#limitBytes = limitBytes;
    this.#compressedCode = compressedCode;
  }

  /** Whether a message has begun. */
  get isOpen(): boolean {
    return this.#bytes > 0;
  }

  /** What is still to come of a message that has begun, as far as that is known. */
  get missingBytes(): number {
    return Math.max(0, this.#wantedBytes - this.#bytes);
  }

  /** Throws RESOURCE_EXHAUSTED for a message over the limit, and `compressedCode` for one that is compressed. */
  push(data: Buffer, onMessage: (message: Buffer) => void): void {
    if (data.length === 0) return;
    this.#parts.push(data);
    this.#bytes += data.length;
    while (this.#bytes >= PREFIX_BYTES) {
      const end = PREFIX_BYTES + this.#length();
      this.#wantedBytes = end;
      if (this.#bytes < end) return;
      const bytes = this.#joined();
      this.#wantedBytes = 0;
      const rest = bytes.subarray(end);
      this.#parts = rest.length === 0 ? [] : [rest];
      this.#bytes = rest.length;
      onMessage(bytes.subarray(PREFIX_BYTES, end));
    }
  }

  #length(): number {
    const [first] = this.#parts as [Buffer];
    const bytes = first.length >= PREFIX_BYTES ? first : this.#joined();
    if (bytes[0] !== 0) {
      throw new RpcError(this.#compressedCode, "a message is compressed, and none was asked for");
    }
    const length = bytes.readUInt32BE(1);
    if (length <= this.#limitBytes) return length;
    const text = `Received message larger than max (${length} vs ${this.#limitBytes})`;
    throw new RpcError("RESOURCE_EXHAUSTED", text);
  }

  #joined(): Buffer {
    if (this.#parts.length > 1) this.#parts = [Buffer.concat(this.#parts)];
    return this.#parts[0] as Buffer;
  }
}
