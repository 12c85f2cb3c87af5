import { isUtf8 } from "node:buffer";

/*
 * google.protobuf.Struct on the wire. All of it is length-delimited, so that a message can be read
 * without knowing what it is made of:
 *
 *   Struct    { map<string, Value> fields = 1 }   an entry is { string key = 1; Value value = 2 }
 *   ListValue { repeated Value values = 1 }
 *   Value     { oneof kind { null 1 | number 2 | string 3 | bool 4 | struct 5 | list 6 } }
 */
export const TAG = {
  /** Struct.fields, ListValue.values */
  member: 0x0a,
  entryKey: 0x0a,
  entryValue: 0x12,
  null: 0x08,
  number: 0x11,
  string: 0x1a,
  bool: 0x20,
  struct: 0x2a,
  list: 0x32,
} as const;

const WIRE_TYPE = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 };

/** What a fault is about: the structure of the message, a string in it, or a key in it. */
type WireFaultKind = "message" | "text" | "key";

/** Why bytes are not a protobuf message; the decoder adds the path. */
export class WireFault extends Error {
  override readonly name = "WireFault";
  readonly kind: WireFaultKind;
  /** The fault is in the container of the current member, and not in that member. */
  readonly isBetween: boolean;

  constructor(message: string, kind: WireFaultKind = "message", isBetween = kind === "key") {
    super(message);
    this.kind = kind;
    this.isBetween = isBetween;
  }
}

/**
 * Reads single fields at any place of a buffer. Every method checks its bounds against the `end`
 * that it is given and leaves the offset of the first byte behind what it read in `next`.
 */
export class WireReader {
  readonly buffer: Buffer;
  readonly view: DataView;
  next = 0;

  constructor(bytes: Uint8Array) {
    this.buffer = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** A varint as its low 32 bits; the upper bits only have to be well-formed. */
  varint(at: number, end: number): number {
    let value = 0;
    for (let i = 0; i < 10; i += 1) {
      if (at + i >= end) throw new WireFault("truncated varint");
      const byte = this.buffer[at + i] as number;
      if (i < 5) value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        this.next = at + i + 1;
        return value >>> 0;
      }
    }
    throw new WireFault("varint of more than 10 bytes");
  }

  /** Like {@link varint}, but NaN where that throws: for callers that then read it more strictly. */
  length(at: number, end: number): number {
    let value = 0;
    for (let i = 0; i < 5 && at + i < end; i += 1) {
      const byte = this.buffer[at + i] as number;
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) {
        this.next = at + i + 1;
        return value;
      }
    }
    return Number.NaN;
  }

  /** Whether any bit of a varint is set: a bool. */
  flag(at: number, end: number): boolean {
    this.varint(at, end);
    for (let i = at; i < this.next; i += 1)
      if (((this.buffer[i] as number) & 0x7f) !== 0) return true;
    return false;
  }

  tag(at: number, end: number): number {
    const tag = this.varint(at, end);
    const size = this.next - at;
    if (
      size > 5 ||
      (size === 5 && (this.buffer[this.next - 1] as number) > 0x0f) ||
      tag >>> 3 === 0
    ) {
      throw new WireFault("invalid tag");
    }
    return tag;
  }

  /** The end of the length-delimited field whose length is at `at`; `next` is where it starts. */
  delimited(at: number, end: number): number {
    const length = this.varint(at, end);
    if (length > end - this.next) throw new WireFault("length beyond the end of the message");
    return this.next + length;
  }

  double(at: number, end: number): number {
    if (end - at < 8) throw new WireFault("truncated number");
    this.next = at + 8;
    return this.view.getFloat64(at, true);
  }

  /** The text in a range of the buffer, which must be valid UTF-8. */
  text(start: number, end: number, kind: "text" | "key" = "text"): string {
    const text = this.buffer.toString(undefined, start, end);
    // An invalid sequence reads as U+FFFD, which may also be what was written.
    if (text.includes("\uFFFD") && !isUtf8(this.buffer.subarray(start, end))) {
      throw new WireFault(`a ${kind} that is not valid UTF-8`, kind);
    }
    return text;
  }

  /** Passes over the field with the given tag, whose content is at `at`. */
  skip(tag: number, at: number, end: number): void {
    const groups: number[] = [];
    let current = tag;
    this.next = at;
    for (;;) {
      switch (current & 7) {
        case WIRE_TYPE.varint:
          this.varint(this.next, end);
          break;
        case WIRE_TYPE.fixed64:
          this.#advance(8, end);
          break;
        case WIRE_TYPE.bytes:
          this.next = this.delimited(this.next, end);
          break;
        case WIRE_TYPE.startGroup:
          groups.push(current >>> 3);
          break;
        case WIRE_TYPE.endGroup:
          if (groups.pop() !== current >>> 3) throw new WireFault("unexpected end of a group");
          break;
        case WIRE_TYPE.fixed32:
          this.#advance(4, end);
          break;
        default:
          throw new WireFault("invalid wire type");
      }
      if (groups.length === 0) return;
      current = this.tag(this.next, end);
    }
  }

  #advance(size: number, end: number): void {
    if (end - this.next < size) throw new WireFault("truncated field");
    this.next += size;
  }
}
