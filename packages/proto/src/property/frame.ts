import { SIGNATURE_KEY } from "./signature.ts";
import type { PropertyValue } from "./value.ts";

/** Ranges of a buffer, as start, end, start, end, ... */
export type Segments = readonly number[];

/**
 * A Struct or a ListValue that is being read: where the reader is in it, and its members so far.
 * A message is one range of the buffer, unless its parent had several occurrences of it, which
 * protobuf merges: then it is their concatenation.
 */
export class Frame {
  /** The members of a Struct; undefined in a list. */
  map: Map<string, PropertyValue> | undefined;
  /** The elements of a list; undefined in a Struct. */
  list: PropertyValue[] | undefined;
  /** In a Struct, the key of the member being read. */
  key = "";
  /** Where to continue, and the end of the range that this is in. */
  pos = 0;
  end = 0;
  /** Whether the signature key is among the members. */
  signed = false;
  /** Whether a member is an unknown value which the options drop. */
  unknown = false;
  #segments: Segments = [];
  #segment = 0;

  openMap(start: number, end: number): Map<string, PropertyValue> {
    this.#open(start, end);
    this.list = undefined;
    return (this.map = new Map());
  }

  openList(start: number, end: number): PropertyValue[] {
    this.#open(start, end);
    this.map = undefined;
    return (this.list = []);
  }

  #open(start: number, end: number): void {
    this.pos = start;
    this.end = end;
    this.signed = false;
    this.unknown = false;
    this.#segment = 0;
    if (this.#segments.length > 0) this.#segments = [];
  }

  /** Makes the given ranges the message; the first becomes the current one. */
  setSegments(segments: Segments): void {
    this.#segments = segments;
    this.#segment = -2;
    this.nextSegment();
  }

  /** Advances to the next range; false when there is none. */
  nextSegment(): boolean {
    if (this.#segment + 2 >= this.#segments.length) return false;
    this.#segment += 2;
    this.pos = this.#segments[this.#segment] as number;
    this.end = this.#segments[this.#segment + 1] as number;
    return true;
  }

  setKey(key: string): void {
    this.key = key;
    if (key === SIGNATURE_KEY) this.signed = true;
  }

  add(value: PropertyValue): void {
    if (this.list !== undefined) this.list.push(value);
    else this.map?.set(this.key, value);
  }
}
