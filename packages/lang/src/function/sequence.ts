import { Type, unify, Value } from "@stackwright/cty";
import { invalidArgument } from "./parameter.ts";

/** A list, set or tuple. */
export function isSequenceType(type: Type): boolean {
  return type.kind === "list" || type.kind === "set" || type.kind === "tuple";
}

/** A list or tuple: a sequence whose elements have positions. */
export function isIndexedType(type: Type): boolean {
  return type.kind === "list" || type.kind === "tuple";
}

/** Values as a result of the type: a tuple, a list or a set. */
export function sequenceOf(values: readonly Value[], type: Type): Value {
  if (type.kind === "list") return Value.list(values, type.element);
  if (type.kind === "set") return Value.set(values, type.element);
  return Value.tuple(values);
}

/** The type that the elements of a sequence have or can be converted to. */
export function elementTypeOf(type: Type, position: number): Type {
  if (type.kind === "list" || type.kind === "set") return type.element;
  if (type.kind !== "tuple") return invalidArgument("a list, set or tuple is required", position);
  if (type.elements.length === 0) return Type.dynamic;
  const unified = unify(type.elements, { unsafe: true });
  return unified?.type ?? invalidArgument("all elements must be of the same type", position);
}

/** Number of elements of a known sequence, or undefined where unknown elements leave it open. */
export function knownSize(value: Value): number | undefined {
  if (!value.isKnown) return undefined;
  if (value.type.kind === "set" && !value.isWhollyKnown && value.size > 1) return undefined;
  return value.size;
}
