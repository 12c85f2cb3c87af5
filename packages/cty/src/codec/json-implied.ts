import { CtyError } from "../errors.ts";
import { BigFloat } from "../number/big-float.ts";
import { MAX_TYPE_DEPTH, Type } from "../type/type.ts";
import { Value } from "../value/value.ts";
import { JsonReader, jsonText } from "./json-text.ts";

/**
 * Reads any JSON text as a value of the type that its structure implies: objects become objects, arrays tuples, null a
 * null of open type. Numbers keep all their digits. Throws `CTY_JSON`, also for members of equal names whose values are
 * of different types, and `CTY_TOO_DEEP`.
 */
export function decodeJsonImplied(source: string | Uint8Array): Value {
  const reader = new JsonReader(jsonText(source));
  const value = readImplied(reader, 0);
  reader.end();
  return value;
}

function readImplied(reader: JsonReader, depth: number): Value {
  if (depth > MAX_TYPE_DEPTH) {
    throw new CtyError("CTY_TOO_DEEP", `values may be nested ${MAX_TYPE_DEPTH} levels deep`);
  }
  if (reader.takeNull()) return Value.null(Type.dynamic);
  const next = reader.peek();
  if (next === "[") {
    const elements: Value[] = [];
    reader.array(() => elements.push(readImplied(reader, depth + 1)));
    return Value.tuple(elements);
  }
  if (next === "{") {
    const attributes = new Map<string, Value>();
    reader.object((name) => {
      const value = readImplied(reader, depth + 1);
      const before = attributes.get(name);
      if (before !== undefined && !before.type.equals(value.type)) {
        throw reader.error("two members of one name with values of different types");
      }
      attributes.set(name, value);
    });
    return Value.object(attributes);
  }
  const scalar = reader.scalar();
  if (typeof scalar === "string") return Value.string(scalar);
  if (typeof scalar === "boolean") return Value.bool(scalar);
  const number = BigFloat.parse(scalar.literal);
  if (number === undefined) throw reader.error("expected a number");
  return Value.number(number);
}
