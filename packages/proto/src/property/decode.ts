import { boolProperty, nullProperty } from "./construct.ts";
import { pathOfFrames, signatureOfFrame } from "./decode-path.ts";
import type { PropertyErrorCode } from "./errors.ts";
import { PropertyError } from "./errors.ts";
import { Frame, type Segments } from "./frame.ts";
import { interpretSignature } from "./interpret.ts";
import { KeyCache } from "./key-cache.ts";
import { type LooseMember, readLooseMember, readLooseValue } from "./loose-fields.ts";
import type { DecodeOptions, ResolvedDecodeOptions } from "./options.ts";
import { resolveDecodeOptions } from "./options.ts";
import { isInternalKey, SENTINEL_LENGTH, SIGNATURE, unknownOfSentinel } from "./signature.ts";
import type { PropertyMap, PropertyValue } from "./value.ts";
import { TAG, WireFault, WireReader } from "./wire.ts";

/**
 * Reads an encoded `google.protobuf.Struct`, one property per field. As in Pulumi, an object is
 * interpreted by its signature key at every level but this topmost one.
 *
 * Depth is limited by memory alone, and time and memory are linear in the size of the input. The
 * result keeps no reference to `bytes`. Throws a {@link PropertyError}.
 */
export function decodeStruct(bytes: Uint8Array, options?: DecodeOptions): PropertyMap {
  return new Decoder(bytes, resolveDecodeOptions(options)).readStruct();
}

/** Reads an encoded `google.protobuf.Value`; see {@link decodeStruct}. */
export function decodeValue(bytes: Uint8Array, options?: DecodeOptions): PropertyValue {
  return new Decoder(bytes, resolveDecodeOptions(options)).readValue();
}

/** Shorter messages have too few keys for a cache to pay. */
const KEY_CACHE_BYTES = 2048;

/**
 * Reads depth first, without recursion. The first `#depth` of `#frames` are the containers around
 * the current place, outermost first; the others wait to be used again, since there are nearly as
 * many containers as values. A frame's `pos` is current only while another one is inside it.
 */
class Decoder {
  readonly #options: ResolvedDecodeOptions;
  readonly #reader: WireReader;
  readonly #keys: KeyCache | undefined;
  readonly #frames: Frame[] = [];
  #depth = 0;
  #isValue = false;

  constructor(bytes: Uint8Array, options: ResolvedDecodeOptions) {
    this.#options = options;
    this.#reader = new WireReader(bytes);
    this.#keys = bytes.length < KEY_CACHE_BYTES ? undefined : new KeyCache(this.#reader);
  }

  readStruct(): PropertyMap {
    const root = this.#push();
    const members = root.openMap(0, this.#reader.buffer.length);
    this.#readMembers(root, -1, 0);
    this.#leaveOut(members, root.unknown, true);
    return members;
  }

  readValue(): PropertyValue {
    // A list of one, whose element starts without the framing of an element.
    this.#isValue = true;
    const root = this.#push();
    const values = root.openList(0, 0);
    this.#readMembers(root, 0, this.#reader.buffer.length);
    return values[0] ?? nullProperty();
  }

  #push(): Frame {
    const frame = (this.#frames[this.#depth] ??= new Frame());
    this.#depth += 1;
    return frame;
  }

  #readMembers(root: Frame, firstStart: number, firstEnd: number): void {
    try {
      this.#run(root, firstStart, firstEnd);
    } catch (error) {
      if (!(error instanceof WireFault)) throw error;
      const code = error.kind === "message" ? "PROPERTY_WIRE_INVALID" : "PROPERTY_TEXT_INVALID";
      this.#fail(this.#depth - (error.isBetween ? 1 : 0), code, error.message);
    }
  }

  /**
   * The loop. Each round finds the bytes of the next member's value and reads them, or closes a
   * container that has none left. `start` and `end` are those bytes; a negative `start` says that
   * they are yet to be found. What an encoder writes is read in place. Anything else, and every
   * length that does not add up, is left to `loose-fields.ts`, which reads or refuses it.
   */
  #run(root: Frame, firstStart: number, firstEnd: number): void {
    const reader = this.#reader;
    const { buffer, view } = reader;
    let frame = root;
    let pos = root.pos;
    let start = firstStart;
    let end = firstEnd;
    for (;;) {
      if (start < 0) {
        if (pos === frame.end) {
          if (!frame.nextSegment()) {
            if (this.#depth === 1) return;
            frame = this.#close(frame);
          }
          pos = frame.pos;
          continue;
        }
        if (buffer[pos] === TAG.member) {
          let length = buffer[pos + 1] as number;
          let at = pos + 2;
          if (length >= 0x80) {
            length = reader.length(pos + 1, frame.end);
            at = reader.next;
          }
          end = at + length;
          if (end <= frame.end) start = frame.list === undefined ? this.#entry(frame, at, end) : at;
        }
        if (start < 0) {
          frame.pos = pos;
          frame = this.#looseMember(frame);
          pos = frame.pos;
          continue;
        }
        pos = end;
      }

      let value: PropertyValue | undefined;
      const tag = buffer[start];
      if (tag === TAG.number) {
        if (start + 9 === end) value = { kind: "number", value: view.getFloat64(start + 1, true) };
      } else if (tag === TAG.bool || tag === TAG.null) {
        const bit = buffer[start + 1];
        if (start + 2 === end && (bit === 0 || (bit === 1 && tag === TAG.bool))) {
          value = tag === TAG.null ? nullProperty() : boolProperty(bit === 1);
        }
      } else if (tag === TAG.string || tag === TAG.struct || tag === TAG.list) {
        let length = buffer[start + 1] as number;
        let at = start + 2;
        if (length >= 0x80) {
          length = reader.length(start + 1, end);
          at = reader.next;
        }
        if (at + length === end) {
          if (tag !== TAG.string) {
            frame.pos = pos;
            frame = this.#push();
            if (tag === TAG.struct) frame.openMap(at, end);
            else frame.openList(at, end);
            pos = at;
            start = -1;
            continue;
          }
          value = this.#text(reader.text(at, end));
        }
      }

      if (value === undefined) {
        frame.pos = pos;
        frame = this.#looseValue(frame, [start, end]);
        pos = frame.pos;
      } else if (value.kind === "unknown") {
        this.#add(frame, value);
      } else {
        frame.add(value);
      }
      start = -1;
    }
  }

  /** Reads the key of a map entry; the result is where its value starts, or -1. */
  #entry(frame: Frame, at: number, end: number): number {
    const { buffer } = this.#reader;
    if (buffer[at] !== TAG.entryKey) return -1;
    let length = buffer[at + 1] as number;
    let start = at + 2;
    if (length >= 0x80) {
      length = this.#reader.length(at + 1, end);
      start = this.#reader.next;
    }
    const stop = start + length;
    if (!(stop < end) || buffer[stop] !== TAG.entryValue) return -1;
    length = buffer[stop + 1] as number;
    let valueStart = stop + 2;
    if (length >= 0x80) {
      length = this.#reader.length(stop + 1, end);
      valueStart = this.#reader.next;
    }
    if (valueStart + length !== end) return -1;
    const keys = this.#keys;
    frame.setKey(
      keys === undefined ? this.#reader.text(start, stop, "key") : keys.text(start, stop),
    );
    return valueStart;
  }

  #text(text: string): PropertyValue {
    if (text.length === SENTINEL_LENGTH && this.#options.signatures === "interpret") {
      const unknown = unknownOfSentinel(text);
      if (unknown !== undefined) return unknown;
    }
    return { kind: "string", value: text };
  }

  /** Reads the field of any kind at the frame's `pos`. The result is the innermost frame. */
  #looseMember(frame: Frame): Frame {
    this.#reader.next = frame.pos;
    let member: LooseMember | undefined;
    try {
      member = readLooseMember(this.#reader, frame.end, frame.list === undefined);
    } catch (error) {
      if (!(error instanceof WireFault)) throw error;
      throw new WireFault(error.message, error.kind, true);
    }
    frame.pos = this.#reader.next;
    if (member === undefined) return frame;
    frame.setKey(member.key);
    return this.#looseValue(frame, member.segments);
  }

  /** Reads or opens the Value in these ranges. The result is the innermost frame. */
  #looseValue(frame: Frame, segments: Segments): Frame {
    const found = readLooseValue(this.#reader, segments);
    if ("value" in found) {
      const { value } = found;
      this.#add(frame, value.kind === "string" ? this.#text(value.value) : value);
      return frame;
    }
    const inner = this.#push();
    if (found.container === "struct") inner.openMap(0, 0);
    else inner.openList(0, 0);
    inner.setSegments(found.segments);
    return inner;
  }

  /** Adds what the frame has read to the frame around it, which is the result. */
  #close(frame: Frame): Frame {
    const { map, list } = frame;
    const value: PropertyValue =
      map === undefined ? { kind: "list", values: list ?? [] } : this.#object(map, frame);
    this.#depth -= 1;
    const around = this.#frames[this.#depth - 1] as Frame;
    this.#add(around, value);
    return around;
  }

  #object(members: Map<string, PropertyValue>, frame: Frame): PropertyValue {
    if (frame.signed && this.#options.signatures === "interpret") {
      const depth = this.#depth - 1;
      return interpretSignature(members, this.#options, (code, detail, ...member) =>
        this.#fail(depth, code, detail, ...member),
      );
    }
    this.#leaveOut(members, frame.unknown, false);
    return { kind: "map", entries: members };
  }

  /** Adds a member to a container. Unknown values stay in maps until it is clear what the map is. */
  #add(frame: Frame, value: PropertyValue): void {
    if (value.kind !== "unknown" || this.#options.unknowns === "keep") {
      frame.add(value);
    } else if (this.#options.unknowns === "reject") {
      this.#fail(this.#depth, "PROPERTY_UNKNOWN_REJECTED", "");
    } else {
      frame.unknown = true;
      frame.add(frame.list === undefined ? value : nullProperty());
    }
  }

  #leaveOut(members: Map<string, PropertyValue>, unknown: boolean, isTop: boolean): void {
    const { skipNulls, skipInternalKeys } = this.#options;
    const internal =
      skipInternalKeys === "all" ? !this.#isInArchive() : isTop && skipInternalKeys === "top";
    if (!unknown && !skipNulls && !internal) return;
    for (const [key, { kind }] of members) {
      if (
        (unknown && kind === "unknown") ||
        (skipNulls && kind === "null") ||
        (internal && isInternalKey(key))
      ) {
        members.delete(key);
      }
    }
  }

  /** Whether the innermost map is the contents of an archive: file names are no property keys. */
  #isInArchive(): boolean {
    const around = this.#frames[this.#depth - 2];
    if (this.#depth < 2 || around?.key !== "assets" || around.list !== undefined) return false;
    return signatureOfFrame(this.#reader, around) === SIGNATURE.archive;
  }

  /** Fails at the member being read in the innermost of `depth` frames, or at a member of that. */
  #fail(depth: number, code: PropertyErrorCode, detail: string, ...member: string[]): never {
    const frames = this.#frames.slice(this.#isValue ? 1 : 0, depth);
    throw new PropertyError(code, [...pathOfFrames(this.#reader, frames), ...member], detail);
  }
}
