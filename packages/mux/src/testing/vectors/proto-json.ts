import { join } from "node:path";
import { structFromJson, structToJson } from "@stackwright/proto/property";
import protobuf from "protobufjs";
import type { JsonObject } from "./vector-file.ts";

/**
 * Messages as proto3 JSON, by an implementation of protobuf that is not the one under test: vectors are written
 * in JSON, servers and clients exchange bytes.
 */
const PROTOS = join(import.meta.dirname, "../../../../proto/proto/published");
const root = new protobuf.Root();
root.resolvePath = (origin, target) =>
  target.startsWith("/") || target.startsWith("google/protobuf/")
    ? protobuf.util.path.resolve(origin, target)
    : join(PROTOS, target);
await root.load(["pulumirpc/provider.proto", "pulumirpc/errors.proto", "cocorpc/provider.proto"], {
  keepCase: false,
});
root.resolveAll();

const STRUCT = ".google.protobuf.Struct";

/** Encodes a message that is given as JSON. */
export function encodeJson(type: string, json: JsonObject): Uint8Array {
  const message = root.lookupType(type);
  return message.encode(message.fromObject(withStructs(message, json))).finish();
}

/** Decodes a message to JSON, absent and default fields left out. */
export function decodeJson(type: string, bytes: Uint8Array): JsonObject {
  const message = root.lookupType(type);
  const object = message.toObject(message.decode(bytes), {
    enums: String,
    bytes: String,
    longs: String,
    defaults: false,
  });
  return withoutStructs(message, object);
}

const struct = () => root.lookupType(STRUCT.slice(1));

/** JSON objects in the place of Structs, as the messages that protobufjs makes of them. */
function withStructs(type: protobuf.Type, json: JsonObject): JsonObject {
  return mapFields(type, json, (value) => struct().decode(structFromJson(value as object)));
}

function withoutStructs(type: protobuf.Type, object: JsonObject): JsonObject {
  return mapFields(type, object, (value) => {
    const message = struct().fromObject(value as object);
    return structToJson(struct().encode(message).finish());
  });
}

function mapFields(
  type: protobuf.Type,
  object: JsonObject,
  convert: (value: unknown) => unknown,
): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => {
      const field = type.fields[name];
      if (field === undefined) {
        throw new Error(`${type.fullName} has no field ${name}: the vector is wrong`);
      }
      const inner = field.resolvedType;
      const each = (item: unknown): unknown => {
        if (!(inner instanceof protobuf.Type)) return item;
        return inner.fullName === STRUCT
          ? convert(item)
          : mapFields(inner, item as JsonObject, convert);
      };
      if (field instanceof protobuf.MapField) {
        const entries = Object.entries(value as object);
        return [name, Object.fromEntries(entries.map(([key, item]) => [key, each(item)]))];
      }
      return [name, Array.isArray(value) ? value.map(each) : each(value)];
    }),
  );
}

/** The JSON of a message with everything left out that says nothing: defaults, empty lists and maps. */
export function normalizeJson(type: string, json: JsonObject): JsonObject {
  return decodeJson(type, encodeJson(type, json));
}
