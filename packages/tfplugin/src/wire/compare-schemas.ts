import { setImmediate } from "node:timers/promises";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { changesOfSchemas, type ProviderSchema, type SchemaChange } from "@stackwright/mux/router";
import { TfpluginError } from "../errors.ts";
import { PLUGIN_METHODS } from "./methods.ts";
import { SchemaReader } from "./schema-from-wire.ts";
import { type IndexedKind, indexSchema, isTypeField } from "./schema-index.ts";

/** What a provider of a protocol answered to `GetProviderSchema`, encoded as it was. */
export interface ComparedSchema {
  readonly protocol: 5 | 6;
  readonly schema: Uint8Array;
}

const KINDS: readonly IndexedKind[] = ["resources", "dataSources", "ephemeralResources"];
/** Bytes of types that are read at once. */
const CHUNK_BYTES = 128 * 1024;
/** The largest type that is known has 0.7 MB. Messages without content become a hundred times as large when they are read. */
const MAX_PART_BYTES = 2 * 1024 * 1024;
/** The most types that are known of one provider are 2,200. */
const MAX_PARTS = 20_000;

/**
 * How an encoded schema differs from an earlier one, some types at a time: others have their turn between them. Types that are encoded alike
 * are not read. Throws where one cannot be decoded, and `TFPLUGIN_SCHEMA_INVALID` where what is decoded is no schema, or one that needs more
 * memory than any provider has a reason for.
 */
export async function* compareSchemas(
  before: ComparedSchema,
  after: ComparedSchema,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly SchemaChange[], void, undefined> {
  requireReadable(before.schema);
  requireReadable(after.schema);
  const was = indexSchema(before.schema);
  const is = indexSchema(after.schema);
  const changesOf = (left: readonly Uint8Array[], right: readonly Uint8Array[]) =>
    changesOfSchemas(readParts(before.protocol, left), readParts(after.protocol, right));
  yield changesOf([was.rest], [is.rest]);
  const meansTheSame = before.protocol === after.protocol;
  let [left, right, size]: [Uint8Array[], Uint8Array[], number] = [[], [], 0];
  for (const kind of KINDS) {
    const names = new Set([...was.types[kind].keys(), ...is.types[kind].keys()]);
    for (const name of [...names].toSorted()) {
      const [one, other] = [was.types[kind].get(name), is.types[kind].get(name)];
      const isEqual = one !== undefined && other !== undefined && Buffer.compare(one, other) === 0;
      if (isEqual && meansTheSame) continue;
      if (one !== undefined) left.push(one);
      if (other !== undefined) right.push(other);
      size += (one?.length ?? 0) + (other?.length ?? 0);
      if (size < CHUNK_BYTES) continue;
      yield changesOf(left, right);
      [left, right, size] = [[], [], 0];
      await setImmediate(undefined, { signal });
    }
  }
  yield changesOf(left, right);
}

function readParts(protocol: 5 | 6, parts: readonly Uint8Array[]): ProviderSchema {
  const { response } = PLUGIN_METHODS[protocol].getProviderSchema;
  return new SchemaReader().provider(response.decode(Buffer.concat(parts)), new Map());
}

/** Refuses a schema that is small on the wire and would take all memory once it is read: whoever hands it in may have made it for that. */
function requireReadable(schema: Uint8Array): void {
  const reader = new BinaryReader(schema);
  let [parts, rest] = [0, 0];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    reader.skip(wireType, field);
    const size = reader.pos - start;
    parts += 1;
    if (!isTypeField(field)) rest += size;
    if (size <= MAX_PART_BYTES && rest <= MAX_PART_BYTES && parts <= MAX_PARTS) continue;
    throw new TfpluginError(
      "TFPLUGIN_SCHEMA_INVALID",
      `the schema has more than ${MAX_PARTS} parts, or one of more than ${MAX_PART_BYTES} bytes`,
    );
  }
}
