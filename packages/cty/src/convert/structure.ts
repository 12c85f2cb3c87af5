import { Path } from "../path/path.ts";
import { type MapType, NO_NAMES, ObjectType, type TupleType } from "../type/type.ts";
import { Value } from "../value/value.ts";
import type { Convert, Converter } from "./converter.ts";
import { mismatchMessage } from "./mismatch.ts";
import { conversionError, convertPart, elementStep } from "./parts.ts";

/**
 * Object to object: every attribute of the target must be in the source and convertible, unless it is optional; then it
 * becomes null where the source lacks it. Other attributes of the source are left out.
 */
export function objectToObject(
  converter: Converter,
  source: ObjectType,
  target: ObjectType,
  unsafe: boolean,
): Convert | undefined {
  const conversions = new Map<string, Convert | "same">();
  for (const [name, type] of target.attributes()) {
    const from = source.attribute(name);
    if (from === undefined) {
      if (target.optional.has(name)) continue;
      return undefined;
    }
    const convert = from.equals(type) ? "same" : converter.find(from, type, unsafe);
    if (convert === undefined) return undefined;
    conversions.set(name, convert);
  }
  const places = target.names.map((name) => source.indexOf(name));
  const converts = target.names.map((name) => conversions.get(name));
  const build = objectBuilder(target);
  return (value) => {
    const given = value.elements();
    return build(
      target.types.map((type, i) => {
        const place = places[i];
        const part = place === undefined ? undefined : given[place];
        if (part === undefined) return Value.null(type);
        const name = target.names[i] ?? "";
        return convertPart(converts[i], part, () => ({ kind: "attribute", name }));
      }),
    );
  };
}

/**
 * Makes objects from their attributes in the order of the target's names. Objects with the same types of attributes, which
 * are all of them where the target leaves nothing open, share one type.
 */
function objectBuilder(target: ObjectType): (attributes: readonly Value[]) => Value {
  let last: ObjectType | undefined;
  return (attributes) => {
    const types = attributes.map((attribute) => attribute.type);
    if (last === undefined || !last.types.every((type, i) => types[i]?.equals(type) === true)) {
      last = new ObjectType(target.names, types, NO_NAMES);
    }
    return Value.objectOf(last, attributes);
  };
}

/** Tuple to tuple of the same length, element by element. */
export function tupleToTuple(
  converter: Converter,
  source: TupleType,
  target: TupleType,
  unsafe: boolean,
): Convert | undefined {
  if (source.elements.length !== target.elements.length) return undefined;
  const conversions: (Convert | "same")[] = [];
  for (const [i, type] of target.elements.entries()) {
    const from = source.elements[i];
    if (from === undefined) return undefined;
    const convert = from.equals(type) ? "same" : converter.find(from, type, unsafe);
    if (convert === undefined) return undefined;
    conversions.push(convert);
  }
  return (value) =>
    Value.tuple(
      value.elements().map((part, i) => convertPart(conversions[i], part, () => elementStep(i))),
    );
}

/**
 * Map to object: which attributes there are is known only from the map itself. An optional attribute whose type the
 * elements cannot be converted to is allowed as long as the map has no such key.
 */
export function mapToObject(
  converter: Converter,
  source: MapType,
  target: ObjectType,
): Convert | undefined {
  const conversions = new Map<string, Convert | "same">();
  for (const [name, type] of target.attributes()) {
    const convert = source.element.equals(type)
      ? "same"
      : converter.find(source.element, type, true);
    if (convert !== undefined) conversions.set(name, convert);
    else if (!target.optional.has(name)) return undefined;
  }
  return (value) => {
    const given = new Map(value.entries());
    const result = new Map<string, Value>();
    for (const [name, type] of target.attributes()) {
      const part = given.get(name);
      if (part === undefined) {
        if (!target.optional.has(name)) throw conversionError(`the map has no element "${name}"`);
        result.set(name, Value.null(type));
        continue;
      }
      const convert = conversions.get(name);
      if (convert === undefined) {
        throw conversionError(mismatchMessage(converter, source.element, type)).within(
          Path.root.index(name),
        );
      }
      result.set(
        name,
        convertPart(convert, part, () => elementStep(name)),
      );
    }
    return Value.object(result);
  };
}
