import {
  isCollectionType,
  type ObjectType,
  Type,
  withoutOptionalAttributes,
} from "../type/type.ts";
import { haveCommonType } from "../value/parts.ts";
import { lengthRange } from "../value/range.ts";
import { Value } from "../value/value.ts";
import type { Convert, Converter } from "./converter.ts";
import { conversionError, convertPart, elementStep, PartConversions } from "./parts.ts";
import { fillDynamic } from "./unknown-result.ts";

function elementTypeOf({ type }: Value): Type {
  return type.kind === "list" || type.kind === "set" || type.kind === "map"
    ? type.element
    : Type.dynamic;
}

/** The element type of an empty result: that of the target, or of the source where the target leaves it open. */
function emptyElement(target: Type, source: Type): Type {
  return target.kind === "dynamic" ? source : withoutOptionalAttributes(target);
}

function expectCommonType(values: readonly Value[], what: string): void {
  if (!haveCommonType(values)) throw conversionError(`all ${what} must be of one type`);
}

/** List or set to list. A set whose size is open becomes an unknown list. */
export function collectionToList(
  converter: Converter,
  element: Type,
  convert: Convert | undefined,
): Convert {
  return (value) => {
    const source = elementTypeOf(value);
    const [least, most] = lengthRange(Value.payload(value));
    if (least !== most) {
      return Value.unknown(Type.list(fillDynamic(converter, source, element)));
    }
    const values = convertAll(value.elements(), convert);
    if (values.length === 0) return Value.list([], emptyElement(element, source));
    expectCommonType(values, "list elements");
    return Value.list(values);
  };
}

/** List or set to set. */
export function collectionToSet(element: Type, convert: Convert | undefined): Convert {
  return (value) => {
    const source = elementTypeOf(value);
    const values = convertAll(value.elements(), convert);
    if (values.length === 0) return Value.set([], emptyElement(element, source));
    expectCommonType(values, "set elements");
    return Value.set(values);
  };
}

function convertAll(values: readonly Value[], convert: Convert | undefined): readonly Value[] {
  if (convert === undefined) return values;
  return values.map((value, i) => convertPart(convert, value, () => elementStep(i)));
}

/** Map to map. Elements whose types came out different are unified once more. */
export function collectionToMap(converter: Converter, element: Type, convert: Convert): Convert {
  return (value) => {
    const keys: string[] = [];
    const parts: Value[] = [];
    for (const [key, part] of value.entries()) {
      keys.push(key);
      parts.push(convertPart(convert, part, () => elementStep(key)));
    }
    if (keys.length === 0) return Value.map([], emptyElement(element, elementTypeOf(value)));
    return mapOf(converter, element, keys, parts, false);
  };
}

/** Compound elements of a map may have come out with different types where the target left something open. */
function mapOf(
  converter: Converter,
  element: Type,
  keys: readonly string[],
  parts: readonly Value[],
  unsafe: boolean,
): Value {
  const compound = isCollectionType(element) || element.kind === "object";
  const values = compound ? unifyAll(converter, parts, unsafe, (i) => keys[i] ?? "") : parts;
  expectCommonType(values, "map elements");
  return Value.map(values.map((value, i) => [keys[i] ?? "", value] as const));
}

function unifyAll(
  converter: Converter,
  values: readonly Value[],
  unsafe: boolean,
  keyOf: (index: number) => number | string,
): readonly Value[] {
  const types = values.map((value) => value.type);
  const first = types[0];
  if (first === undefined || types.every((type) => type === first)) return values;
  const unified = converter.unify(types, unsafe);
  if (unified === undefined) throw conversionError("the elements have no common type");
  const conversions = new PartConversions(converter, unified.type, unsafe);
  return values.map((value, i) => {
    const convert = conversions.find(value.type);
    if (convert === undefined) throw conversionError("the elements have no common type");
    return convertPart(convert, value, () => elementStep(keyOf(i)));
  });
}

/** The element type for a target that leaves it open: the type that the parts unify to. */
function openElement(
  converter: Converter,
  parts: readonly Type[],
  unsafe: boolean,
): Type | undefined {
  const type = converter.unify(parts, unsafe)?.type;
  if (type?.kind !== "dynamic") return type;
  // A collection can be of open type only if nothing in it says otherwise.
  return parts.every((part) => part.kind === "dynamic") ? type : undefined;
}

/** Tuple to list. */
export function tupleToList(
  converter: Converter,
  parts: readonly Type[],
  target: Type,
  unsafe: boolean,
): Convert | undefined {
  if (parts.length === 0) return () => Value.list([], withoutOptionalAttributes(target));
  const element = target.kind === "dynamic" ? openElement(converter, parts, unsafe) : target;
  const convert = tupleElements(converter, parts, element, unsafe);
  if (convert === undefined) return undefined;
  return (value) => {
    const values = unifyAll(converter, convert(value), unsafe, (i) => i);
    expectCommonType(values, "list elements");
    return Value.list(values);
  };
}

/** Tuple to set. */
export function tupleToSet(
  converter: Converter,
  parts: readonly Type[],
  target: Type,
  unsafe: boolean,
): Convert | undefined {
  if (parts.length === 0) return () => Value.set([], withoutOptionalAttributes(target));
  const element = target.kind === "dynamic" ? openElement(converter, parts, unsafe) : target;
  const convert = tupleElements(converter, parts, element, unsafe);
  if (convert === undefined) return undefined;
  return (value) => {
    const values = convert(value);
    expectCommonType(values, "set elements");
    return Value.set(values);
  };
}

/** Converts all elements of a tuple to one type; undefined where one of them cannot be. */
function tupleElements(
  converter: Converter,
  parts: readonly Type[],
  element: Type | undefined,
  unsafe: boolean,
): ((value: Value) => readonly Value[]) | undefined {
  if (element === undefined) return undefined;
  const conversions = new PartConversions(converter, element, unsafe);
  if (parts.some((part) => conversions.find(part) === undefined)) return undefined;
  return (value) =>
    value.elements().map((part, i) => {
      return convertPart(conversions.find(parts[i] ?? part.type), part, () => elementStep(i));
    });
}

/** Object to map. */
export function objectToMap(
  converter: Converter,
  source: ObjectType,
  target: Type,
  unsafe: boolean,
): Convert | undefined {
  if (source.names.length === 0) return () => Value.map([], withoutOptionalAttributes(target));
  const element = target.kind === "dynamic" ? converter.unify(source.types, unsafe)?.type : target;
  if (element === undefined) return undefined;
  const conversions = new PartConversions(converter, element, unsafe);
  if (source.types.some((type) => conversions.find(type) === undefined)) return undefined;
  return (value) => {
    const parts = value.elements().map((part, i) => {
      const convert = conversions.find(source.types[i] ?? part.type);
      return convertPart(convert, part, () => elementStep(source.names[i] ?? ""));
    });
    return mapOf(converter, element, source.names, parts, unsafe);
  };
}
