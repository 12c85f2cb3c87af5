/** Strings up to this many units are encoded here; longer ones by the platform. */
const SHORT_STRING = 64;

/** Strings from this many units on are measured first, so that no second copy of their bytes is made. */
const LONG_STRING = 1024 * 1024;

/** Up to this size a buffer doubles when it grows; a larger one grows by a quarter. */
const MOST_DOUBLED = 1024 * 1024;

const UTF8 = new TextEncoder();

/** Writes msgpack into a buffer that grows. Every item takes the shortest form that the format has for it. */
export class MsgpackWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #length = 0;

  constructor(capacity = 256) {
    this.#bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Number of bytes written so far. */
  get length(): number {
    return this.#length;
  }

  /** What was written. A long content is not copied, so that nothing may be written afterwards. */
  finish(): Uint8Array {
    if (this.#length >= LONG_STRING) return this.#bytes.subarray(0, this.#length);
    return this.#bytes.slice(0, this.#length);
  }

  #reserve(count: number): number {
    const start = this.#length;
    if (start + count > this.#bytes.length) {
      const size = this.#bytes.length;
      const slack = Math.min(size, Math.max(MOST_DOUBLED, size / 4));
      const grown = new Uint8Array(Math.ceil(Math.max(size, start + count) + slack));
      grown.set(this.#bytes.subarray(0, start));
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    this.#length = start + count;
    return start;
  }

  /** Bytes that are msgpack already. */
  raw(bytes: Uint8Array): void {
    const start = this.#reserve(bytes.length);
    this.#bytes.set(bytes, start);
  }

  #byte(value: number): void {
    const start = this.#reserve(1);
    this.#bytes[start] = value;
  }

  #sized(code: number, size: 1 | 2 | 4, value: number): void {
    const start = this.#reserve(1 + size);
    this.#bytes[start] = code;
    if (size === 1) this.#view.setUint8(start + 1, value);
    else if (size === 2) this.#view.setUint16(start + 1, value);
    else this.#view.setUint32(start + 1, value);
  }

  nil(): void {
    this.#byte(0xc0);
  }

  bool(value: boolean): void {
    this.#byte(value ? 0xc3 : 0xc2);
  }

  /** A safe integer, in the shortest of the integer forms; non-negative ones take an unsigned form. */
  integer(value: number): void {
    if (value >= 0) {
      if (value < 0x80) this.#byte(value);
      else if (value < 0x100) this.#sized(0xcc, 1, value);
      else if (value < 0x10000) this.#sized(0xcd, 2, value);
      else if (value < 0x100000000) this.#sized(0xce, 4, value);
      else this.#wide(0xcf, BigInt(value));
    } else if (value >= -0x20) this.#byte(value & 0xff);
    else if (value >= -0x80) this.#sized(0xd0, 1, value & 0xff);
    else if (value >= -0x8000) this.#sized(0xd1, 2, value & 0xffff);
    else if (value >= -0x80000000) this.#sized(0xd2, 4, value >>> 0);
    else this.#wide(0xd3, BigInt(value));
  }

  /** An integer of 64 bits with sign that is too large to be a safe one. */
  bigInteger(value: bigint): void {
    this.#wide(value >= 0n ? 0xcf : 0xd3, value);
  }

  #wide(code: number, value: bigint): void {
    const start = this.#reserve(9);
    this.#bytes[start] = code;
    this.#view.setBigUint64(start + 1, BigInt.asUintN(64, value));
  }

  double(value: number): void {
    const start = this.#reserve(9);
    this.#bytes[start] = 0xcb;
    this.#view.setFloat64(start + 1, value);
  }

  string(text: string): void {
    const isLong = text.length >= LONG_STRING && text.isWellFormed();
    if (text.length > SHORT_STRING && !isLong) {
      const bytes = UTF8.encode(text);
      this.#stringHeader(bytes.length);
      this.raw(bytes);
      return;
    }
    const size = utf8Size(text);
    this.#stringHeader(size);
    const start = this.#reserve(size);
    if (size === text.length && size <= SHORT_STRING) {
      for (let i = 0; i < size; i += 1) this.#bytes[start + i] = text.charCodeAt(i);
    } else UTF8.encodeInto(text, this.#bytes.subarray(start, start + size));
  }

  #stringHeader(size: number): void {
    if (size < 0x20) this.#byte(0xa0 | size);
    else if (size < 0x100) this.#sized(0xd9, 1, size);
    else if (size < 0x10000) this.#sized(0xda, 2, size);
    else this.#sized(0xdb, 4, size);
  }

  binary(bytes: Uint8Array): void {
    const size = bytes.length;
    if (size < 0x100) this.#sized(0xc4, 1, size);
    else if (size < 0x10000) this.#sized(0xc5, 2, size);
    else this.#sized(0xc6, 4, size);
    this.raw(bytes);
  }

  arrayHeader(size: number): void {
    if (size < 0x10) this.#byte(0x90 | size);
    else if (size < 0x10000) this.#sized(0xdc, 2, size);
    else this.#sized(0xdd, 4, size);
  }

  mapHeader(size: number): void {
    if (size < 0x10) this.#byte(0x80 | size);
    else if (size < 0x10000) this.#sized(0xde, 2, size);
    else this.#sized(0xdf, 4, size);
  }

  extension(type: number, body: Uint8Array): void {
    const size = body.length;
    const fixed = [1, 2, 4, 8, 16].indexOf(size);
    if (fixed >= 0) this.#byte(0xd4 + fixed);
    else if (size < 0x100) this.#sized(0xc7, 1, size);
    else if (size < 0x10000) this.#sized(0xc8, 2, size);
    else this.#sized(0xc9, 4, size);
    this.#byte(type & 0xff);
    this.raw(body);
  }
}

/** The strings as msgpack, one by one. */
export function packedStrings(texts: readonly string[]): readonly Uint8Array[] {
  const writer = new MsgpackWriter(texts.length * 16);
  const ends = texts.map((text) => {
    writer.string(text);
    return writer.length;
  });
  const all = writer.finish();
  return ends.map((end, i) => all.subarray(ends[i - 1] ?? 0, end));
}

/** Number of UTF-8 bytes of a well-formed string. */
function utf8Size(text: string): number {
  let size = text.length;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    // A surrogate is half of a pair of four bytes, which is two per unit.
    if (unit >= 0x800 && (unit & 0xf800) !== 0xd800) size += 2;
    else if (unit >= 0x80) size += 1;
  }
  return size;
}
