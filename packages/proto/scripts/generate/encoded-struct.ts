import { posix } from "node:path";
import type { DescriptorProto, FileDescriptorProto } from "@bufbuild/protobuf/wkt";

// google.protobuf.Struct, Value and ListValue stay encoded: fields have the types of
// src/encoded-struct.ts. ts-proto sees struct.proto under another name, so that its own mapping to
// plain objects does not apply; what it writes for the renamed messages is then replaced by reading
// and writing bytes.

const STRUCT_FILE = "google/protobuf/struct.proto";
const ENCODED_FILE = "stackwright/encoded_struct.proto";
/** Stands in the generated imports until it is replaced by a relative path. */
const ENCODED_MODULE = "encoded-struct-module";
/** Seen from the output folder. */
const ENCODED_PATH = "../encoded-struct.ts";
const RENAMED_TYPES = new Map([
  [".google.protobuf.Struct", ".stackwright.EncodedStruct"],
  [".google.protobuf.Value", ".stackwright.EncodedValue"],
  [".google.protobuf.ListValue", ".stackwright.EncodedListValue"],
]);

/** The option by which ts-proto imports the renamed file instead of generating it. */
export const ENCODED_STRUCT_OPTION = `M${ENCODED_FILE}=${ENCODED_MODULE}`;

function renameTypes(message: DescriptorProto): void {
  for (const field of message.field) {
    field.typeName = RENAMED_TYPES.get(field.typeName) ?? field.typeName;
  }
  message.nestedType.forEach(renameTypes);
}

/** Renames struct.proto, its messages and all references to them in a file of the request. */
export function hideStruct(file: FileDescriptorProto): void {
  file.messageType.forEach(renameTypes);
  file.dependency = file.dependency.map((name) => (name === STRUCT_FILE ? ENCODED_FILE : name));
  if (file.name !== STRUCT_FILE) return;
  file.name = ENCODED_FILE;
  file.package = "stackwright";
  for (const message of file.messageType) message.name = `Encoded${message.name}`;
}

/** Replaces what ts-proto wrote for the renamed messages in the file `name`. */
export function keepStructsEncoded(name: string, source: string): string {
  const path = posix.relative(posix.dirname(name), ENCODED_PATH);
  const result = source
    .replace(
      new RegExp(`^import (\\{.*\\}) from "${ENCODED_MODULE}";$`, "m"),
      `import type $1 from "${path}";`,
    )
    .replace(
      /Encoded\w+\.encode\(([\w.!]+), (writer\.uint32\(\d+\))\.fork\(\)\)\.join\(\)/g,
      "$2.bytes($1)",
    )
    .replace(/(Encoded\w+)\.decode\(reader, reader\.uint32\(\)\)/g, "reader.bytes() as $1")
    .replace(/Encoded\w+\.fromPartial\(([\w.]+)\)/g, "$1");
  const left = /.*(?:\bEncoded\w+\.|encoded-struct-module).*/.exec(result);
  if (left !== null) throw new Error(`${name}: cannot keep this struct encoded: ${left[0]}`);
  return result;
}
