import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { EncodedStruct, EncodedValue } from "@stackwright/proto/struct";

/** One top-level member of an encoded Struct. */
export interface StructMember {
  readonly key: string;
  /** The encoded value; absent means that the entry carries none. */
  readonly value: EncodedValue | undefined;
  /** The member as it stands in the Struct, tag included: what is passed on. */
  readonly bytes: Uint8Array;
}

const ENTRY_TAG = 10;
const KEY_TAG = 10;
const VALUE_TAG = 18;

/**
 * Takes an encoded Struct apart at its top level without decoding the values, so that a mux can leave
 * members out and put members together and never re-encodes what providers said.
 */
export function structMembers(struct: EncodedStruct): StructMember[] {
  const members: StructMember[] = [];
  const reader = new BinaryReader(struct);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const tag = reader.uint32();
    if (tag !== ENTRY_TAG) {
      reader.skip(tag & 7);
      continue;
    }
    const end = reader.uint32() + reader.pos;
    let key = "";
    let value: EncodedValue | undefined;
    while (reader.pos < end) {
      const field = reader.uint32();
      if (field === KEY_TAG) key = reader.string();
      else if (field === VALUE_TAG) value = reader.bytes() as EncodedValue;
      else reader.skip(field & 7);
    }
    members.push({ key, value, bytes: struct.subarray(start, end) });
  }
  return members;
}

/** Puts members together again, in their order. */
export function joinMembers(members: readonly StructMember[]): EncodedStruct {
  return Buffer.concat(members.map(({ bytes }) => bytes)) as Uint8Array as EncodedStruct;
}
