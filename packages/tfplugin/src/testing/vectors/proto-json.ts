import { join } from "node:path";
import protobuf from "protobufjs";
import type { JsonObject } from "./vector-file.ts";

/**
 * Messages as proto3 JSON, by an implementation of protobuf that is not the one under test: vectors are written in JSON,
 * servers and clients exchange bytes.
 */
const PROTOS = join(import.meta.dirname, "../../../../proto/proto/published");
const root = new protobuf.Root();
root.resolvePath = (_origin, target) => join(PROTOS, target);
await root.load(["tfplugin5/tfplugin5.proto", "tfplugin6/tfplugin6.proto"], { keepCase: false });
root.resolveAll();

/** What a method of a protocol takes and gives, and how. */
interface MethodTypes {
  readonly request: protobuf.Type;
  readonly response: protobuf.Type;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

export function methodTypes(protocol: 5 | 6, name: string): MethodTypes {
  const method = root.lookupService(`tfplugin${protocol}.Provider`).methods[name];
  const { resolvedRequestType, resolvedResponseType } = method ?? {};
  if (method === undefined || !resolvedRequestType || !resolvedResponseType) {
    throw new Error(`protocol ${protocol} has no method ${name}`);
  }
  return {
    request: resolvedRequestType,
    response: resolvedResponseType,
    requestStream: method.requestStream === true,
    responseStream: method.responseStream === true,
  };
}

/** Encodes a message that is given as JSON. Fields that the message does not have mean that the vector is wrong. */
export function encodeJson(type: protobuf.Type, json: JsonObject): Uint8Array {
  return type.encode(type.fromObject(checked(type, json))).finish();
}

/** Decodes a message to JSON, absent and default fields left out. */
export function decodeJson(type: protobuf.Type, bytes: Uint8Array): JsonObject {
  const options = { enums: String, bytes: String, longs: String, defaults: false } as const;
  return type.toObject(type.decode(bytes), options);
}

/** The JSON of a message with everything left out that says nothing. */
export function normalizeJson(type: protobuf.Type, json: JsonObject): JsonObject {
  return decodeJson(type, encodeJson(type, json));
}

function checked(type: protobuf.Type, json: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(json).flatMap(([name, value]): [string, unknown][] => {
      // One field is spelled with a capital in the protocol.
      const spelled = name === "error" && type.fields["Error"] !== undefined ? "Error" : name;
      const field = type.fields[spelled];
      if (field === undefined) throw new Error(`${type.fullName} has no field ${name}`);
      if (value === null) return [];
      const inner = field.resolvedType;
      const each = (item: unknown): unknown =>
        inner instanceof protobuf.Type ? checked(inner, item as JsonObject) : item;
      if (field instanceof protobuf.MapField) {
        const entries = Object.entries(value as object);
        return [[spelled, Object.fromEntries(entries.map(([key, item]) => [key, each(item)]))]];
      }
      return [[spelled, Array.isArray(value) ? value.map(each) : each(value)]];
    }),
  );
}
