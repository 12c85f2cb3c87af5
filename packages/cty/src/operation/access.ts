import { CtyError } from "../errors.ts";
import { toSafeInteger } from "../number/number-payload.ts";
import { typeName } from "../type/names.ts";
import { Type } from "../type/type.ts";
import { setContains } from "../value/equality.ts";
import {
  Entries,
  isNumberPayload,
  type Payload,
  Sequence,
  SetElements,
  Unknown,
} from "../value/payload.ts";
import { lengthRange } from "../value/range.ts";
import { refinedUnknown } from "../value/refine.ts";
import { UNBOUNDED_LENGTH } from "../value/refinement.ts";
import { truthValue, UNKNOWN_TRUTH } from "../value/unknown.ts";
import { Value } from "../value/value.ts";
import { unmarkDeep, withMarks1, withMarks2 } from "./operands.ts";

/**
 * An attribute of an object, with the marks of the object added to its own. Of an unknown object an unknown of the
 * attribute's type, of {@link Value.dynamic} the same. Throws `CTY_NULL`, `CTY_WRONG_TYPE`, `CTY_NO_SUCH_ELEMENT`.
 */
export function getAttribute(value: Value, name: string): Value {
  return withMarks1(value, (object) => {
    const { type } = object;
    if (type.kind === "dynamic" && !object.isNull) return Value.dynamic;
    if (type.kind !== "object") throw wrongKind("object", type);
    const position = type.indexOf(name);
    const attribute = position === undefined ? undefined : type.types[position];
    if (position === undefined || attribute === undefined) {
      throw new CtyError("CTY_NO_SUCH_ELEMENT", `the object has no attribute "${name}"`);
    }
    return part(attribute, notNull(object), (payload) =>
      payload instanceof Sequence ? payload.items[position] : undefined,
    );
  });
}

/**
 * An element of a list, tuple or map, with the marks of collection and key added to its own. Unknown where the collection
 * or the key is. Throws `CTY_NULL`, `CTY_WRONG_TYPE` (also for keys of the wrong type), `CTY_NO_SUCH_ELEMENT`.
 */
export function index(value: Value, key: Value): Value {
  return withMarks2(value, key, (collection, plainKey) => {
    const { type } = collection;
    if (type.kind === "dynamic" && !collection.isNull) return Value.dynamic;
    const payload = notNull(collection);
    if (type.kind === "list") {
      const position = positionOf(plainKey);
      if (position === "unknown") return Value.unknown(type.element);
      return part(type.element, payload, (p) => itemAt(p, position));
    }
    if (type.kind === "tuple") {
      const position = positionOf(plainKey);
      if (position === "unknown") return Value.dynamic;
      const element = position === undefined ? undefined : type.elements[position];
      if (element === undefined) throw noSuchElement();
      return part(element, payload, (p) => itemAt(p, position));
    }
    if (type.kind !== "map") throw wrongKind("list, tuple or map", type);
    const text = textOf(plainKey);
    if (text === undefined) return Value.unknown(type.element);
    return part(type.element, payload, (p) => (p instanceof Entries ? p.map.get(text) : undefined));
  });
}

/**
 * Whether {@link index} would find an element. A key of the wrong type finds none. Throws `CTY_NULL`, `CTY_WRONG_TYPE`.
 */
export function hasIndex(value: Value, key: Value): Value {
  return withMarks2(value, key, (collection, plainKey) => {
    const { type } = collection;
    if (type.kind === "dynamic" && !collection.isNull) return UNKNOWN_TRUTH;
    if (type.kind !== "list" && type.kind !== "tuple" && type.kind !== "map") {
      throw wrongKind("list, tuple or map", type);
    }
    const payload = notNull(collection);
    const wanted = type.kind === "map" ? "string" : "number";
    if (plainKey.isNull) throw new CtyError("CTY_NULL", "the key is null");
    if (plainKey.type.kind === "dynamic") return UNKNOWN_TRUTH;
    if (plainKey.type.kind !== wanted) return Value.false;
    if (!plainKey.isKnown) return UNKNOWN_TRUTH;
    if (type.kind === "tuple") {
      const position = positionOf(plainKey);
      return Value.bool(typeof position === "number" && position < type.elements.length);
    }
    if (payload instanceof Unknown) return UNKNOWN_TRUTH;
    if (payload instanceof Entries) return Value.bool(payload.map.has(plainKey.asString()));
    const position = positionOf(plainKey);
    const size = payload instanceof Sequence ? payload.items.length : 0;
    return Value.bool(typeof position === "number" && position < size);
  });
}

/**
 * Whether a set has the element; unknown where unknowns leave it open. Marks of both pass to the result. Throws
 * `CTY_NULL`, `CTY_WRONG_TYPE`.
 */
export function hasElement(set: Value, element: Value): Value {
  if (element.containsMarks) {
    const [plain, marks] = unmarkDeep(element);
    return hasElement(set, plain).withMarks(marks);
  }
  return withMarks1(set, (plain) => {
    const { type } = plain;
    if (type.kind === "dynamic" && !plain.isNull) return UNKNOWN_TRUTH;
    if (type.kind !== "set") throw wrongKind("set", type);
    const payload = notNull(plain);
    const open = type.element.hasDynamic || element.type.kind === "dynamic";
    if (!open && !element.type.equals(type.element)) return Value.false;
    if (!(payload instanceof SetElements)) return UNKNOWN_TRUTH;
    if (!element.type.equals(type.element)) return element.isKnown ? Value.false : UNKNOWN_TRUTH;
    return truthValue(setContains(type.element, payload, Value.payload(element)));
  });
}

/**
 * The number of elements of a collection or tuple, or of attributes of an object. Unknown with bounds where elements of
 * a set may coincide or the collection is unknown. Throws `CTY_NULL`, `CTY_WRONG_TYPE`.
 */
export function length(value: Value): Value {
  return withMarks1(value, (collection) => {
    const { type } = collection;
    const payload = notNull(collection);
    if (type.kind === "tuple") return Value.number(type.elements.length);
    if (type.kind === "object") return Value.number(type.names.length);
    if (
      type.kind !== "list" &&
      type.kind !== "set" &&
      type.kind !== "map" &&
      type.kind !== "dynamic"
    ) {
      throw wrongKind("collection", type);
    }
    if (payload instanceof Unknown) {
      const { minLength = 0, maxLength = Infinity } = payload.refinement ?? {};
      return lengthBetween(minLength, maxLength);
    }
    return lengthBetween(...lengthRange(payload));
  });
}

function lengthBetween(least: number, most: number): Value {
  if (least === most) return Value.number(least);
  const max = most === Infinity ? Value.number(UNBOUNDED_LENGTH) : Value.number(most);
  const payload = Value.payload(max);
  return refinedUnknown(Type.number, {
    notNull: true,
    min: { value: least, inclusive: true },
    ...(isNumberPayload(payload) ? { max: { value: payload, inclusive: true } } : {}),
  });
}

function part(
  type: Type,
  payload: Payload,
  pick: (payload: Payload) => Payload | undefined,
): Value {
  if (payload instanceof Unknown) return Value.unknown(type);
  const picked = pick(payload);
  if (picked === undefined) throw noSuchElement();
  return type.kind === "dynamic" && picked instanceof Unknown
    ? Value.dynamic
    : new Value(type, picked);
}

function itemAt(payload: Payload, position: number | undefined): Payload | undefined {
  return payload instanceof Sequence && position !== undefined
    ? payload.items[position]
    : undefined;
}

/** The position that a key names: undefined where it names none, "unknown" where it is not known. */
function positionOf(key: Value): number | undefined | "unknown" {
  if (key.isNull) throw new CtyError("CTY_NULL", "the key is null");
  if (key.type.kind === "dynamic") return "unknown";
  if (key.type.kind !== "number") throw wrongKind("number as key", key.type);
  const payload = Value.payload(key);
  if (!isNumberPayload(payload)) return "unknown";
  const position = toSafeInteger(payload);
  return position !== undefined && position >= 0 ? position : undefined;
}

function textOf(key: Value): string | undefined {
  if (key.isNull) throw new CtyError("CTY_NULL", "the key is null");
  if (key.type.kind === "dynamic") return undefined;
  if (key.type.kind !== "string") throw wrongKind("string as key", key.type);
  return key.isKnown ? key.asString() : undefined;
}

function notNull(value: Value): Payload {
  if (value.isNull) throw new CtyError("CTY_NULL", "the value is null");
  return Value.payload(value);
}

function noSuchElement(): CtyError {
  return new CtyError("CTY_NO_SUCH_ELEMENT", "there is no element with this key");
}

function wrongKind(expected: string, actual: Type): CtyError {
  return new CtyError("CTY_WRONG_TYPE", `expected ${expected}, got ${typeName(actual)}`);
}
