import { BinaryReader } from "@bufbuild/protobuf/wire";

/**
 * The same answer to `GetProviderSchema` with its parts in one order. Programs write the entries of a map in any order, so that one program
 * answers in other bytes each time. Throws where the bytes are no message.
 */
export function sortedSchema(bytes: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    reader.skip(wireType, field);
    parts.push(bytes.subarray(start, reader.pos));
  }
  return Buffer.concat(parts.toSorted((left, right) => Buffer.compare(left, right)));
}
