import { boolProperty, nullProperty, numberProperty, stringProperty } from "./construct.ts";
import type { Segments } from "./frame.ts";
import type { PropertyValue } from "./value.ts";
import { TAG, WireFault, type WireReader } from "./wire.ts";

/*
 * Encoders write every field of a Value and of a map entry once and in order, and the decoder is
 * made for that. Protobuf allows more: fields in any order, repeated, with unknown ones between.
 * The last occurrence of a field counts, and occurrences of the same message are merged, which is
 * what their concatenation means. These functions read any such form, level by level; they never
 * look into a nested message, so the whole stays linear in the size of the input. One form they
 * refuse: a map or list that a later kind of the same value replaces, since what it holds would
 * be skipped without a check.
 */

/** A Value that is read, or the ranges of the Struct or list that it holds. */
type LooseValue =
  | { readonly value: PropertyValue }
  | { readonly container: "struct" | "list"; readonly segments: number[] };

/** Reads a Value. Throws a WireFault when no field of it says what it is. */
export function readLooseValue(reader: WireReader, segments: Segments): LooseValue {
  let found: LooseValue | undefined;
  for (let i = 0; i < segments.length; i += 2) {
    const end = segments[i + 1] as number;
    reader.next = segments[i] as number;
    while (reader.next < end) {
      const next = readKind(reader, end, found);
      if (found !== undefined && "container" in found && next !== found) {
        throw new WireFault("a value of more than one kind");
      }
      found = next;
    }
  }
  if (found === undefined) throw new WireFault("a value without a kind");
  return found;
}

function readKind(
  reader: WireReader,
  end: number,
  before: LooseValue | undefined,
): LooseValue | undefined {
  const tag = reader.tag(reader.next, end);
  switch (tag) {
    case TAG.null:
      reader.varint(reader.next, end);
      return { value: nullProperty() };
    case TAG.number:
      return { value: numberProperty(reader.double(reader.next, end)) };
    case TAG.bool:
      return { value: boolProperty(reader.flag(reader.next, end)) };
    case TAG.string: {
      const stop = reader.delimited(reader.next, end);
      const text = reader.text(reader.next, stop);
      reader.next = stop;
      return { value: stringProperty(text) };
    }
    case TAG.struct:
    case TAG.list: {
      const container = tag === TAG.struct ? "struct" : "list";
      const stop = reader.delimited(reader.next, end);
      const start = reader.next;
      reader.next = stop;
      if (before === undefined || !("container" in before) || before.container !== container) {
        return { container, segments: [start, stop] };
      }
      before.segments.push(start, stop);
      return before;
    }
    default:
      reader.skip(tag, reader.next, end);
      return before;
  }
}

/** A field of a Struct or ListValue: the ranges of its value, and in a Struct its key. */
export interface LooseMember {
  readonly key: string;
  readonly segments: Segments;
}

/**
 * Reads one field of a Struct (`isMap`) or of a ListValue at `reader.next`, and leaves
 * `reader.next` behind it. The result is undefined for an unknown field.
 */
export function readLooseMember(
  reader: WireReader,
  end: number,
  isMap: boolean,
): LooseMember | undefined {
  const tag = reader.tag(reader.next, end);
  if (tag !== TAG.member) {
    reader.skip(tag, reader.next, end);
    return undefined;
  }
  const stop = reader.delimited(reader.next, end);
  if (!isMap) {
    const segments = [reader.next, stop];
    reader.next = stop;
    return { key: "", segments };
  }
  return readEntry(reader, stop);
}

function readEntry(reader: WireReader, end: number): LooseMember {
  let key = "";
  const segments: number[] = [];
  while (reader.next < end) {
    const tag = reader.tag(reader.next, end);
    if (tag !== TAG.entryKey && tag !== TAG.entryValue) {
      reader.skip(tag, reader.next, end);
      continue;
    }
    const stop = reader.delimited(reader.next, end);
    if (tag === TAG.entryKey) key = reader.text(reader.next, stop, "key");
    else segments.push(reader.next, stop);
    reader.next = stop;
  }
  return { key, segments };
}
