import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** Kinds of types in the answer to `GetProviderSchema`, by their fields there: the same ones in both protocols. */
const KINDS = { 2: "resources", 3: "dataSources", 8: "ephemeralResources" } as const;

export type IndexedKind = (typeof KINDS)[keyof typeof KINDS];

/** Whether a field of the answer is an entry of a map of types. */
export function isTypeField(field: number): boolean {
  return field in KINDS;
}

/** Where in an encoded answer each type is, and all that is no type. */
interface SchemaIndex {
  /** By name, a message that has this one type and nothing else. */
  readonly types: Readonly<Record<IndexedKind, ReadonlyMap<string, Uint8Array>>>;
  /** The same answer without types. */
  readonly rest: Uint8Array;
}

/**
 * Finds the types in an encoded answer to `GetProviderSchema` without reading them: of thousands a command needs a few. Throws where the
 * bytes are no message.
 */
export function indexSchema(bytes: Uint8Array): SchemaIndex {
  const types = {
    resources: new Map<string, Uint8Array>(),
    dataSources: new Map<string, Uint8Array>(),
    ephemeralResources: new Map<string, Uint8Array>(),
  };
  const rest: Uint8Array[] = [];
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    const kind = KINDS[field as keyof typeof KINDS];
    if (kind === undefined || wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, field);
      rest.push(bytes.subarray(start, reader.pos));
      continue;
    }
    const name = keyOf(reader.bytes());
    types[kind].set(name, bytes.subarray(start, reader.pos));
  }
  return { types, rest: Buffer.concat(rest) };
}

/** The key of an entry of a map. */
function keyOf(entry: Uint8Array): string {
  const reader = new BinaryReader(entry);
  let key = "";
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field !== 1 || wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, field);
      continue;
    }
    key = reader.string();
    // Every writer puts the key before the value; one that repeated it behind would name it once more.
    if (reader.pos < reader.len) return key;
  }
  return key;
}
