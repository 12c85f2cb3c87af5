import { CtyError } from "../errors.ts";
import { typeName } from "../type/names.ts";
import { isPrimitiveType, Type, withoutOptionalAttributes } from "../type/type.ts";
import { unreachable } from "../unreachable.ts";
import { Unknown } from "../value/payload.ts";
import { Value } from "../value/value.ts";
import {
  collectionToList,
  collectionToMap,
  collectionToSet,
  objectToMap,
  tupleToList,
  tupleToSet,
} from "./collection.ts";
import type { Convert, Converter, Unification } from "./converter.ts";
import { mismatchMessage } from "./mismatch.ts";
import { primitiveConversion } from "./primitive.ts";
import { mapToObject, objectToObject, tupleToTuple } from "./structure.ts";
import { unifyTypes } from "./unify.ts";
import { fillDynamic, unknownResult } from "./unknown-result.ts";

const converter: Converter = {
  find: (from, to, unsafe) => {
    const known = findForKnown(from, to, unsafe);
    return known === undefined ? undefined : forAllValues(to, known);
  },
  unify: (types, unsafe) => unifyTypes(converter, types, unsafe),
};

/** Adds to a conversion of known, unmarked, non-null values what is the same for all conversions. */
function forAllValues(to: Type, convert: Convert): Convert {
  if (to.kind === "dynamic") return (value) => value;
  const target = withoutOptionalAttributes(to);
  const converted: Convert = (value) => {
    if (value.isMarked) {
      const [plain, marks] = value.unmark();
      return converted(plain).withMarks(marks);
    }
    const payload = Value.payload(value);
    if (payload === null) return Value.null(fillDynamic(converter, value.type, target));
    if (payload instanceof Unknown) {
      return unknownResult(payload, value.type, fillDynamic(converter, value.type, target));
    }
    return convert(value);
  };
  return converted;
}

/** The conversion of known, unmarked, non-null values, by the kinds of the two types. */
function findForKnown(from: Type, to: Type, unsafe: boolean): Convert | undefined {
  if (to.kind === "dynamic") return (value) => value;
  // Whether a value of unknown type fits is seen when it is known.
  if (from.kind === "dynamic") return unsafe ? (value) => convert(value, to) : undefined;
  if (isPrimitiveType(from) && isPrimitiveType(to)) {
    return primitiveConversion(from.kind, to.kind, unsafe);
  }
  switch (to.kind) {
    case "list":
      return toList(from, to.element, unsafe);
    case "set":
      return toSet(from, to.element, unsafe);
    case "map": {
      if (from.kind === "object") return objectToMap(converter, from, to.element, unsafe);
      if (from.kind !== "map") return capsuleConversion(from, to, unsafe);
      const element = converter.find(from.element, to.element, unsafe);
      return element === undefined ? undefined : collectionToMap(converter, to.element, element);
    }
    case "object":
      if (from.kind === "object") return objectToObject(converter, from, to, unsafe);
      if (from.kind === "map") return unsafe ? mapToObject(converter, from, to) : undefined;
      return capsuleConversion(from, to, unsafe);
    case "tuple":
      if (from.kind === "tuple") return tupleToTuple(converter, from, to, unsafe);
      return capsuleConversion(from, to, unsafe);
    case "string":
    case "number":
    case "bool":
    case "capsule":
      return capsuleConversion(from, to, unsafe);
    default:
      return unreachable(to);
  }
}

function toList(from: Type, element: Type, unsafe: boolean): Convert | undefined {
  if (from.kind === "tuple") return tupleToList(converter, from.elements, element, unsafe);
  if (from.kind !== "list" && from.kind !== "set") {
    return capsuleConversion(from, Type.list(element), unsafe);
  }
  if (from.element.equals(element)) return collectionToList(converter, element, undefined);
  const part = converter.find(from.element, element, unsafe);
  return part === undefined ? undefined : collectionToList(converter, element, part);
}

/** From a list only unsafely: order and duplicates get lost. */
function toSet(from: Type, element: Type, unsafe: boolean): Convert | undefined {
  if (from.kind === "tuple") return tupleToSet(converter, from.elements, element, unsafe);
  if (from.kind !== "list" && from.kind !== "set") {
    return capsuleConversion(from, Type.set(element), unsafe);
  }
  if (from.kind === "list" && !unsafe) return undefined;
  if (from.element.equals(element)) return collectionToSet(element, undefined);
  const part = converter.find(from.element, element, unsafe);
  return part === undefined ? undefined : collectionToSet(element, part);
}

function capsuleConversion(from: Type, to: Type, unsafe: boolean): Convert | undefined {
  if (!unsafe || from === to) return undefined;
  if (to.kind === "capsule" && to.operations.canConvertFrom?.(from) === true) {
    return (value) => Value.capsule(to, to.operations.convertFrom?.(value));
  }
  if (from.kind === "capsule" && from.operations.canConvertTo?.(to) === true) {
    return (value) => {
      const made = from.operations.convertTo?.(value.asCapsule(from), to);
      if (made?.type.equals(to) === true) return made;
      throw new CtyError("CTY_CONVERSION", `${from.name} did not become ${typeName(to)}`);
    };
  }
  return undefined;
}

/** Which conversions to look for. */
export interface ConversionOptions {
  /** Also those that may fail for some values or lose something: string to number, list to set, map to object. @default false */
  readonly unsafe?: boolean;
}

/**
 * The conversion from one type to another; undefined where there is none. Equal types need none, and for equal primitive
 * types there is none. Safe conversions succeed for every value.
 */
export function findConversion(
  from: Type,
  to: Type,
  options: ConversionOptions = {},
): Convert | undefined {
  return converter.find(from, to, options.unsafe ?? false);
}

/**
 * The value as a value of the type, which may be a constraint: where it says `dynamic` the value's own type stays, and
 * optional attributes that the value lacks become null. Safe and unsafe conversions are allowed. The identical value
 * is returned where there is nothing to do.
 *
 * Throws `CTY_CONVERSION` with the path of the part that does not fit.
 */
export function convert(value: Value, type: Type): Value {
  if (value.type.equals(withoutOptionalAttributes(type))) return value;
  const conversion = converter.find(value.type, type, true);
  if (conversion === undefined) {
    throw new CtyError("CTY_CONVERSION", mismatchMessage(converter, value.type, type));
  }
  return conversion(value);
}

/**
 * The most general of the types that all the given ones can be converted to, with a conversion for each that needs one;
 * undefined where they have nothing in common or nothing is given.
 */
export function unify(
  types: readonly Type[],
  options: ConversionOptions = {},
): Unification | undefined {
  return unifyTypes(converter, types, options.unsafe ?? false);
}

/** Why a value of one type cannot become one of another, in words for the person who wrote it. */
export function describeMismatch(got: Type, want: Type): string {
  return mismatchMessage(converter, got, want);
}
