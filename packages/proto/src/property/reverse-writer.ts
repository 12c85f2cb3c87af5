/** Protobuf messages are limited to what a signed 32-bit length can say. */
const MAX_BYTES = 0x7fff_ffff;
const FIRST_BYTES = 256;
/** Shorter text is written by character, which needs no call into the runtime. */
const SHORT_TEXT = 48;

/**
 * Writes a protobuf message from its end to its start. A length-delimited field is then finished
 * before its length is written, so that lengths need neither a first pass over the value nor a
 * later move of bytes, at any depth.
 *
 * `at` is the offset of the last byte written, so sizes are differences of it, counted from the
 * end of the buffer by `size`.
 */
export class ReverseWriter {
  readonly #tooLarge: () => never;
  readonly #maxBytes: number;
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #view = new DataView(this.#buffer.buffer, this.#buffer.byteOffset, FIRST_BYTES);
  #at = FIRST_BYTES;

  /** `tooLarge` is called, and has to throw, when the message would exceed `maxBytes`. */
  constructor(tooLarge: () => never, maxBytes: number = MAX_BYTES) {
    this.#tooLarge = tooLarge;
    this.#maxBytes = maxBytes;
  }

  /** Bytes written so far. */
  get size(): number {
    return this.#buffer.length - this.#at;
  }

  byte(value: number): void {
    if (this.#at < 1) this.#grow(1);
    this.#at -= 1;
    this.#buffer[this.#at] = value;
  }

  varint(value: number): void {
    if (this.#at < 5) this.#grow(5);
    if (value < 0x80) {
      this.#at -= 1;
      this.#buffer[this.#at] = value;
      return;
    }
    let size = 2;
    for (let rest = value >>> 14; rest > 0; rest >>>= 7) size += 1;
    this.#at -= size;
    let at = this.#at;
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) {
      this.#buffer[at] = (rest & 0x7f) | 0x80;
      at += 1;
    }
    this.#buffer[at] = rest;
  }

  double(value: number): void {
    if (this.#at < 8) this.#grow(8);
    this.#at -= 8;
    this.#view.setFloat64(this.#at, value, true);
  }

  /** Writes text with its length before it; false, and nothing written, for a lone surrogate. */
  text(text: string): boolean {
    const { length } = text;
    if (length <= SHORT_TEXT && this.#ascii(text)) {
      this.varint(length);
      return true;
    }
    const size = Buffer.byteLength(text);
    if (size !== length && !text.isWellFormed()) return false;
    if (this.#at < size) this.#grow(size);
    this.#at -= size;
    this.#buffer.write(text, this.#at, size, size === length ? "latin1" : "utf8");
    this.varint(size);
    return true;
  }

  #ascii(text: string): boolean {
    const { length } = text;
    if (this.#at < length) this.#grow(length);
    const buffer = this.#buffer;
    const start = this.#at - length;
    for (let i = 0; i < length; i += 1) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) return false;
      buffer[start + i] = code;
    }
    this.#at = start;
    return true;
  }

  /** The message, in memory of its own size. */
  finish(): Uint8Array {
    const message = new Uint8Array(this.size);
    message.set(this.#buffer.subarray(this.#at));
    return message;
  }

  #grow(needed: number): void {
    const used = this.size;
    if (used + needed > this.#maxBytes) this.#tooLarge();
    const capacity = Math.min(this.#maxBytes, Math.max(this.#buffer.length * 2, used + needed));
    const buffer = Buffer.allocUnsafeSlow(capacity);
    buffer.set(this.#buffer.subarray(this.#at), capacity - used);
    this.#buffer = buffer;
    this.#view = new DataView(buffer.buffer, buffer.byteOffset, capacity);
    this.#at = capacity - used;
  }
}
