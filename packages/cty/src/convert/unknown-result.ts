import { NO_NAMES, ObjectType, type TupleType, Type } from "../type/type.ts";
import { type Payload, Unknown } from "../value/payload.ts";
import { refinedUnknown } from "../value/refine.ts";
import { Value } from "../value/value.ts";
import type { Converter } from "./converter.ts";

/**
 * The target type with each `dynamic` in it replaced by what the source has in that place. The two must be convertible;
 * where they do not match part by part (a map element and an attribute that is absent), the target stands.
 */
export function fillDynamic(converter: Converter, source: Type | undefined, target: Type): Type {
  if (!target.hasDynamic || source === undefined || source.kind === "dynamic") return target;
  if (target.kind === "dynamic") return source;
  if (target.kind === "tuple") return fillTuple(converter, source, target);
  if (target.kind === "object") {
    const types = target.names.map((name, i) => {
      const part = source.kind === "map" ? source.element : attributeOf(source, name);
      return fillDynamic(converter, part, target.types[i] ?? Type.dynamic);
    });
    return new ObjectType(target.names, types, NO_NAMES);
  }
  if (target.kind === "list" || target.kind === "set" || target.kind === "map") {
    const part = elementOf(converter, source, target.kind === "map");
    const element = fillDynamic(converter, part, target.element);
    if (target.kind === "list") return Type.list(element);
    return target.kind === "set" ? Type.set(element) : Type.map(element);
  }
  return target;
}

function fillTuple(converter: Converter, source: Type, target: TupleType): Type {
  const parts = source.kind === "tuple" ? source.elements : [];
  return Type.tuple(target.elements.map((type, i) => fillDynamic(converter, parts[i], type)));
}

function attributeOf(source: Type, name: string): Type | undefined {
  return source.kind === "object" ? source.attribute(name) : undefined;
}

function elementOf(converter: Converter, source: Type, mapping: boolean): Type | undefined {
  if (mapping) {
    if (source.kind === "map") return source.element;
    return source.kind === "object" ? converter.unify(source.types, true)?.type : undefined;
  }
  if (source.kind === "list" || source.kind === "set") return source.element;
  return source.kind === "tuple" ? converter.unify(source.elements, true)?.type : undefined;
}

/**
 * The unknown that the conversion of an unknown gives, with what is still known: nullness, and the number of elements as
 * far as the source determines it. Elements may coincide when they become elements of a set.
 */
export function unknownResult(payload: Payload, source: Type, target: Type): Value {
  const known = payload instanceof Unknown ? (payload.refinement ?? {}) : {};
  const notNull = known.notNull === true;
  if (target.kind === "dynamic") return Value.dynamic;
  if (source.kind === "object" && target.kind === "map") {
    const length = source.names.length;
    return refinedUnknown(target, { notNull, minLength: length, maxLength: length });
  }
  if (source.kind === "tuple" && (target.kind === "list" || target.kind === "set")) {
    const length = source.elements.length;
    const minLength = target.kind === "set" ? Math.min(length, 1) : length;
    return refinedUnknown(target, { notNull, minLength, maxLength: length });
  }
  const collections =
    (source.kind === "list" || source.kind === "set" || source.kind === "map") &&
    (target.kind === "list" || target.kind === "set" || target.kind === "map");
  if (!collections) return refinedUnknown(target, { notNull });
  const { minLength = 0, maxLength = Infinity } = known;
  return refinedUnknown(target, {
    notNull,
    minLength: target.kind === "set" ? Math.min(minLength, 1) : minLength,
    maxLength,
  });
}
