import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/**
 * The text in one field of a message, without decoding the rest: requests are routed as the bytes that they are. Empty
 * where the field is absent; of several the last counts. Throws for bytes that are no message.
 */
export function textField(message: Uint8Array, number: number): string {
  const reader = new BinaryReader(message);
  let text = "";
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === number && type === WireType.LengthDelimited) text = reader.string();
    else reader.skip(type, field);
  }
  return text;
}
