import type { JsonObject, JsonValue } from "@stackwright/base/json";
import type { EncodedStruct, EncodedValue } from "../encoded-struct.ts";
import { boolProperty, nullProperty, numberProperty, stringProperty } from "./construct.ts";
import { decodeStruct, decodeValue } from "./decode.ts";
import { encodeStruct, encodeValue } from "./encode.ts";
import { PropertyError } from "./errors.ts";
import { resolveEncodeOptions } from "./options.ts";
import type { PropertyPath } from "./path.ts";
import { UNKNOWN_SENTINEL } from "./signature.ts";
import { signatureMembers } from "./signature-members.ts";
import type { PropertyMap, PropertyValue } from "./value.ts";

/**
 * Writes a JSON object as a `google.protobuf.Struct`, as it is: objects with the signature key and
 * sentinels are passed on. Throws PROPERTY_JSON_INVALID for what JSON cannot say.
 */
export function structFromJson(json: object): EncodedStruct {
  const value = propertyFromJson(json);
  if (value.kind !== "map") throw new PropertyError("PROPERTY_JSON_INVALID", [], "not an object");
  return encodeStruct(value.entries);
}

/**
 * Reads an encoded Struct as a JSON object, without interpreting it. JavaScript moves integer-like
 * keys to the front, and NaN and the infinities, which JSON does not have, stay numbers.
 */
export function structToJson(bytes: Uint8Array): JsonObject {
  return objectToJson(decodeStruct(bytes, { signatures: "ignore" }));
}

/** Writes a JSON value as a `google.protobuf.Value`; see {@link structFromJson}. */
export function valueFromJson(json: unknown): EncodedValue {
  return encodeValue(propertyFromJson(json));
}

/** Reads an encoded Value as JSON; see {@link structToJson}. */
export function valueToJson(bytes: Uint8Array): JsonValue {
  return propertyToJson(decodeValue(bytes, { signatures: "ignore" }));
}

interface FromJson {
  readonly source: object;
  /** Its members that are not read yet, last first. */
  readonly keys: (string | number)[];
  key: string | number;
  readonly add: (key: string | number, value: PropertyValue) => void;
}

/**
 * A JSON value as a property without interpretation: only nulls, bools, numbers, strings, lists
 * and maps come out. Members that are undefined are left out, undefined elements are null. Throws
 * PROPERTY_JSON_INVALID, with the path, for anything else that JSON cannot say and for an object
 * that contains itself. Works at any depth.
 */
export function propertyFromJson(json: unknown): PropertyValue {
  let result: PropertyValue = nullProperty();
  const around = new Set<object>();
  const stack: FromJson[] = [];
  const read = (source: unknown, add: (value: PropertyValue) => void): void => {
    const scalar = scalarFromJson(source);
    if (scalar !== undefined) return add(scalar);
    if (!isJsonContainer(source)) return refuse(stack, `found ${describe(source)}`);
    if (around.has(source)) return refuse(stack, "contains itself");
    around.add(source);
    const frame = Array.isArray(source) ? listFrame(source, add) : mapFrame(source, add);
    stack.push(frame);
  };
  read(json, (value) => {
    result = value;
  });
  for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
    const key = frame.keys.pop();
    if (key === undefined) {
      stack.pop();
      around.delete(frame.source);
      continue;
    }
    frame.key = key;
    const { add } = frame;
    read(Reflect.get(frame.source, key), (value) => add(key, value));
  }
  return result;
}

function scalarFromJson(json: unknown): PropertyValue | undefined {
  if (json === null || json === undefined) return nullProperty();
  if (typeof json === "boolean") return boolProperty(json);
  if (typeof json === "number") return numberProperty(json);
  return typeof json === "string" ? stringProperty(json) : undefined;
}

function isJsonContainer(json: unknown): json is object {
  if (typeof json !== "object" || json === null) return false;
  const prototype: unknown = Object.getPrototypeOf(json);
  return Array.isArray(json) || prototype === Object.prototype || prototype === null;
}

function listFrame(source: readonly unknown[], add: (value: PropertyValue) => void): FromJson {
  const values: PropertyValue[] = [];
  add({ kind: "list", values });
  const keys = Array.from(source, (_, index) => index).reverse();
  return { source, keys, key: 0, add: (_, value) => void values.push(value) };
}

function mapFrame(source: object, add: (value: PropertyValue) => void): FromJson {
  const entries = new Map<string, PropertyValue>();
  add({ kind: "map", entries });
  const keys = Object.keys(source).filter((key) => Reflect.get(source, key) !== undefined);
  return {
    source,
    keys: keys.reverse(),
    key: "",
    add: (key, value) => void entries.set(String(key), value),
  };
}

function refuse(stack: readonly FromJson[], detail: string): never {
  const path: PropertyPath = stack.map((frame) => frame.key);
  throw new PropertyError("PROPERTY_JSON_INVALID", path, detail);
}

function describe(source: unknown): string {
  return typeof source === "object" ? "an object with a class" : `a ${typeof source}`;
}

const KEEP_ALL = resolveEncodeOptions();

/**
 * A property as JSON, in the form it has on the wire: signature objects and sentinels included.
 * See {@link structToJson} for what JSON does to keys and numbers. Works at any depth.
 */
export function propertyToJson(value: PropertyValue): JsonValue {
  let result: JsonValue = null;
  const pending: { value: PropertyValue; put: (json: JsonValue) => void }[] = [
    {
      value,
      put: (json) => {
        result = json;
      },
    },
  ];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value: current, put } = next;
    switch (current.kind) {
      case "null":
        put(null);
        break;
      case "bool":
      case "number":
      case "string":
        put(current.value);
        break;
      case "unknown":
        put(UNKNOWN_SENTINEL[current.type]);
        break;
      case "list": {
        const list: JsonValue[] = current.values.map(() => null);
        put(list);
        for (const [index, element] of current.values.entries()) {
          pending.push({
            value: element,
            put: (json) => {
              list[index] = json;
            },
          });
        }
        break;
      }
      case "map":
      case "secret":
      case "output":
      case "asset":
      case "archive":
      case "resource":
      case "bytes": {
        const members =
          current.kind === "map" ? current.entries : signatureMembers(current, KEEP_ALL);
        const object: Record<string, JsonValue> = {};
        put(object);
        for (const [key, member] of members) {
          define(object, key, null);
          pending.push({ value: member, put: (json) => define(object, key, json) });
        }
        break;
      }
      default:
        current satisfies never;
    }
  }
  return result;
}

/** Assignment would take the key `__proto__` for something else. */
function define(object: Record<string, JsonValue>, key: string, value: JsonValue): void {
  if (key !== "__proto__") object[key] = value;
  else
    Object.defineProperty(object, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
}

function objectToJson(properties: PropertyMap): JsonObject {
  return propertyToJson({ kind: "map", entries: properties }) as JsonObject;
}
