import { convert } from "./convert/convert.ts";
import { CtyError } from "./errors.ts";
import { BigFloat } from "./number/big-float.ts";
import { Type } from "./type/type.ts";
import { Value } from "./value/value.ts";

/** JavaScript data that has a value: what JSON has, plus exact numbers, maps, sets, and values themselves. */
export type NativeInput =
  | null
  | undefined
  | boolean
  | string
  | number
  | bigint
  | BigFloat
  | Value
  | readonly NativeInput[]
  | ReadonlyMap<string, NativeInput>
  | ReadonlySet<NativeInput>
  | { readonly [name: string]: NativeInput };

/**
 * JavaScript data as a value. Without a type, arrays become tuples, plain objects and maps objects, sets sets of what
 * they hold, null and undefined a null of unknown type; with one, that is converted to the type. Numbers are taken as by
 * {@link Value.number}.
 *
 * Throws `CTY_INVALID_VALUE` for anything without a value (functions, dates, class instances), for cycles and for sets
 * whose elements are of several types, `CTY_NOT_A_NUMBER` for NaN, `CTY_CONVERSION`.
 */
export function fromNative(input: NativeInput, type?: Type): Value {
  const value = toValue(input, new Set());
  return type === undefined ? value : convert(value, type);
}

function toValue(input: NativeInput, ancestors: Set<object>): Value {
  if (input === null || input === undefined) return Value.null(Type.dynamic);
  if (input instanceof Value) return input;
  if (typeof input === "string") return Value.string(input);
  if (typeof input === "boolean") return Value.bool(input);
  if (typeof input === "number" || typeof input === "bigint" || input instanceof BigFloat) {
    return Value.number(input);
  }
  if (typeof input !== "object") throw unsupported();
  if (ancestors.has(input)) throw new CtyError("CTY_INVALID_VALUE", "the data contains itself");
  ancestors.add(input);
  const value = compound(input, ancestors);
  ancestors.delete(input);
  return value;
}

type Compound = Extract<NativeInput, object>;

function compound(input: Compound, ancestors: Set<object>): Value {
  if (isArray(input)) return Value.tuple(input.map((part) => toValue(part, ancestors)));
  if (input instanceof Set) {
    const parts = Array.from(input, (part: NativeInput) => toValue(part, ancestors));
    return Value.set(parts, parts.length === 0 ? Type.dynamic : undefined);
  }
  if (!(input instanceof Map)) {
    const prototype: unknown = Object.getPrototypeOf(input);
    if (prototype !== null && prototype !== Object.prototype) throw unsupported();
  }
  const entries: Iterable<readonly [string, NativeInput]> =
    input instanceof Map ? input : Object.entries(input);
  return Value.object(
    Array.from(entries, ([name, part]) => [name, toValue(part, ancestors)] as const),
  );
}

function isArray(input: Compound): input is readonly NativeInput[] {
  return Array.isArray(input);
}

function unsupported(): CtyError {
  return new CtyError("CTY_INVALID_VALUE", "only plain data can become a value");
}

/** What {@link toNative} returns. */
export type Native =
  | null
  | boolean
  | string
  | number
  | bigint
  | BigFloat
  | Native[]
  | { [name: string]: Native };

/**
 * The value as plain JavaScript data: lists, sets and tuples as arrays, maps and objects as objects. A number is a
 * JavaScript number where that has the same decimal text, a bigint where it is another integer, else a {@link BigFloat}.
 *
 * Throws `CTY_MARKED` and `CTY_UNKNOWN` where marks or unknowns are anywhere in the value, `CTY_WRONG_TYPE` for
 * capsules.
 */
export function toNative(value: Value): Native {
  if (value.containsMarks) throw new CtyError("CTY_MARKED", "the value contains marks");
  if (!value.isWhollyKnown) throw new CtyError("CTY_UNKNOWN", "the value contains unknowns");
  return unwrap(value);
}

function unwrap(value: Value): Native {
  if (value.isNull) return null;
  switch (value.type.kind) {
    case "string":
      return value.asString();
    case "bool":
      return value.asBoolean();
    case "number":
      return nativeNumber(value);
    case "list":
    case "set":
    case "tuple":
      return value.elements().map(unwrap);
    case "map":
    case "object":
      return Object.fromEntries(Array.from(value.entries(), ([key, part]) => [key, unwrap(part)]));
    case "dynamic":
    case "capsule":
    default:
      throw new CtyError("CTY_WRONG_TYPE", "the value has no plain form");
  }
}

function nativeNumber(value: Value): number | bigint | BigFloat {
  const exact = value.asBigFloat();
  const nearest = value.asNumber();
  if (!Number.isFinite(nearest)) return exact.isInfinite ? nearest : integerOr(exact);
  if (Number.isSafeInteger(nearest) && exact.isInteger) return nearest;
  return !exact.isInteger && BigFloat.fromNumber(nearest).text() === exact.text()
    ? nearest
    : integerOr(exact);
}

function integerOr(exact: BigFloat): bigint | BigFloat {
  return exact.isInteger ? exact.truncate() : exact;
}
