import { CtyError } from "../errors.ts";

/** What to do with strings whose bytes are not UTF-8. */
export type InvalidUtf8 = "error" | "replace";

/** Strings up to this many bytes are decoded here if they are ASCII; others by the platform. */
const SHORT_STRING = 32;

/** An extension item: its type and its body. */
export interface Extension {
  readonly type: number;
  readonly body: Uint8Array;
}

/**
 * Reads msgpack item by item, in any of the forms the format allows. It never reads beyond the bytes, and a claimed
 * length is checked against what is left before anything is made of it. Errors are `CTY_MSGPACK` with the offset.
 */
export class MsgpackReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #text: InstanceType<typeof TextDecoder>;
  #position = 0;

  constructor(bytes: Uint8Array, invalidUtf8: InvalidUtf8) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#text = new TextDecoder("utf-8", { fatal: invalidUtf8 === "error", ignoreBOM: true });
  }

  error(message: string): CtyError {
    return new CtyError("CTY_MSGPACK", `${message} at offset ${this.#position}`);
  }

  /** The code of the next item, which stays unread. */
  peek(): number {
    const code = this.#bytes[this.#position];
    if (code === undefined) throw this.error("unexpected end");
    return code;
  }

  /** Nothing may follow. */
  end(): void {
    if (this.#position !== this.#bytes.length) throw this.error("unexpected bytes after the value");
  }

  #advance(count: number): number {
    const start = this.#position;
    if (count > this.#bytes.length - start) throw this.error("unexpected end");
    this.#position = start + count;
    return start;
  }

  /** Reads the bytes if they come next. */
  takeBytes(bytes: Uint8Array): boolean {
    const start = this.#position;
    for (let i = 0; i < bytes.length; i += 1) {
      if (this.#bytes[start + i] !== bytes[i]) return false;
    }
    this.#position = start + bytes.length;
    return true;
  }

  /** Reads a nil if there is one. */
  takeNil(): boolean {
    if (this.peek() !== 0xc0) return false;
    this.#position += 1;
    return true;
  }

  bool(): boolean {
    const code = this.peek();
    if (code !== 0xc2 && code !== 0xc3) throw this.error("expected a bool");
    this.#position += 1;
    return code === 0xc3;
  }

  /** An integer or floating-point item; undefined, with nothing read, where the next item is something else. */
  number(): { readonly integer: number | bigint } | { readonly double: number } | undefined {
    const code = this.peek();
    if (code < 0x80 || code >= 0xe0) {
      this.#position += 1;
      return { integer: code < 0x80 ? code : code - 0x100 };
    }
    const view = this.#view;
    switch (code) {
      case 0xca:
        return { double: view.getFloat32(this.#advance(5) + 1) };
      case 0xcb:
        return { double: view.getFloat64(this.#advance(9) + 1) };
      case 0xcc:
        return { integer: view.getUint8(this.#advance(2) + 1) };
      case 0xcd:
        return { integer: view.getUint16(this.#advance(3) + 1) };
      case 0xce:
        return { integer: view.getUint32(this.#advance(5) + 1) };
      case 0xcf:
        return { integer: view.getBigUint64(this.#advance(9) + 1) };
      case 0xd0:
        return { integer: view.getInt8(this.#advance(2) + 1) };
      case 0xd1:
        return { integer: view.getInt16(this.#advance(3) + 1) };
      case 0xd2:
        return { integer: view.getInt32(this.#advance(5) + 1) };
      case 0xd3:
        return { integer: view.getBigInt64(this.#advance(9) + 1) };
      default:
        return undefined;
    }
  }

  /** A string; the binary form is accepted too. */
  string(): string {
    const size = this.#stringSize();
    const start = this.#advance(size);
    if (size <= SHORT_STRING) {
      const text = this.#ascii(start, size);
      if (text !== undefined) return text;
    }
    return this.#decode(start, size);
  }

  /** Bytes in binary or string form. */
  binary(): Uint8Array {
    const size = this.#stringSize();
    const start = this.#advance(size);
    return this.#bytes.subarray(start, start + size);
  }

  #ascii(start: number, size: number): string | undefined {
    let text = "";
    for (let i = start; i < start + size; i += 1) {
      const byte = this.#bytes[i] ?? 0x80;
      if (byte >= 0x80) return undefined;
      text += String.fromCharCode(byte);
    }
    return text;
  }

  #decode(start: number, size: number): string {
    try {
      return this.#text.decode(this.#bytes.subarray(start, start + size));
    } catch (error) {
      throw new CtyError("CTY_MSGPACK", `a string is not UTF-8 at offset ${start}`, {
        cause: error,
      });
    }
  }

  #stringSize(): number {
    const code = this.peek();
    const view = this.#view;
    if (code >= 0xa0 && code <= 0xbf) {
      this.#position += 1;
      return code & 0x1f;
    }
    if (code === 0xd9 || code === 0xc4) return view.getUint8(this.#advance(2) + 1);
    if (code === 0xda || code === 0xc5) return view.getUint16(this.#advance(3) + 1);
    if (code === 0xdb || code === 0xc6) return view.getUint32(this.#advance(5) + 1);
    throw this.error("expected a string");
  }

  /** Number of elements of an array. */
  arraySize(): number {
    const code = this.peek();
    if (code >= 0x90 && code <= 0x9f) {
      this.#position += 1;
      return code & 0x0f;
    }
    if (code === 0xdc) return this.#plausible(this.#view.getUint16(this.#advance(3) + 1), 1);
    if (code === 0xdd) return this.#plausible(this.#view.getUint32(this.#advance(5) + 1), 1);
    throw this.error("expected an array");
  }

  /** Number of pairs of a map. */
  mapSize(): number {
    const code = this.peek();
    if (code >= 0x80 && code <= 0x8f) {
      this.#position += 1;
      return code & 0x0f;
    }
    if (code === 0xde) return this.#plausible(this.#view.getUint16(this.#advance(3) + 1), 2);
    if (code === 0xdf) return this.#plausible(this.#view.getUint32(this.#advance(5) + 1), 2);
    throw this.error("expected a map");
  }

  /** Every element takes at least one byte, so a larger number is a lie. */
  #plausible(count: number, bytesEach: number): number {
    if (count * bytesEach > this.#bytes.length - this.#position) throw this.error("unexpected end");
    return count;
  }

  /** Reads an extension if there is one. */
  takeExtension(): Extension | undefined {
    const code = this.peek();
    let size: number;
    if (code >= 0xd4 && code <= 0xd8) {
      this.#position += 1;
      size = 2 ** (code - 0xd4);
    } else if (code === 0xc7) size = this.#view.getUint8(this.#advance(2) + 1);
    else if (code === 0xc8) size = this.#view.getUint16(this.#advance(3) + 1);
    else if (code === 0xc9) size = this.#view.getUint32(this.#advance(5) + 1);
    else return undefined;
    const type = this.#view.getInt8(this.#advance(1));
    const start = this.#advance(size);
    return { type, body: this.#bytes.subarray(start, start + size) };
  }

  /** Skips one item of any kind, without recursion. */
  skip(): void {
    for (let left = 1; left > 0; left -= 1) {
      const code = this.peek();
      if ((code >= 0x80 && code <= 0x8f) || code === 0xde || code === 0xdf)
        left += 2 * this.mapSize();
      else if ((code >= 0x90 && code <= 0x9f) || code === 0xdc || code === 0xdd)
        left += this.arraySize();
      else if (code === 0xc0 || code === 0xc2 || code === 0xc3) this.#position += 1;
      else if (code === 0xc1) throw this.error("malformed item");
      else if (this.number() === undefined && this.takeExtension() === undefined) this.binary();
    }
  }
}
