import { isPrimitiveType, type Type } from "../type/type.ts";

/**
 * Which of two types is the more general one, for unification: negative when the first is, positive when the second
 * is, 0 when neither is preferable. It says nothing about whether a conversion exists.
 *
 * Anything is more general than `dynamic`, so that values of unknown type follow their neighbours. Among primitives
 * string is the most general; lists are preferred to tuples, maps to objects, tuples and lists to sets.
 */
export function compareTypes(a: Type, b: Type): number {
  if (a.kind === "dynamic" || b.kind === "dynamic") {
    return Number(a.kind === "dynamic") - Number(b.kind === "dynamic");
  }
  if (isPrimitiveType(a) && isPrimitiveType(b)) {
    return Number(b.kind === "string") - Number(a.kind === "string");
  }
  if ((a.kind === "list" || a.kind === "set" || a.kind === "map") && a.kind === b.kind) {
    return compareTypes(a.element, b.element);
  }
  if (a.kind === "object" && b.kind === "object") {
    const named =
      a.names.length === b.names.length && a.names.every((name, i) => b.names[i] === name);
    return named ? compareParts(a.types, b.types) : 0;
  }
  if (a.kind === "tuple" && b.kind === "tuple") {
    return a.elements.length === b.elements.length ? compareParts(a.elements, b.elements) : 0;
  }
  return sequencePreference(a) !== undefined && sequencePreference(b) !== undefined
    ? compareSequences(a, b)
    : compareMapping(a, b);
}

/** Parts that disagree about the more general side leave the wholes equal. */
function compareParts(a: readonly Type[], b: readonly Type[]): number {
  let first = false;
  let second = false;
  for (const [i, part] of a.entries()) {
    const other = b[i];
    const order = other === undefined ? 0 : compareTypes(part, other);
    first ||= order < 0;
    second ||= order > 0;
  }
  return Number(second) - Number(first);
}

const SEQUENCES: Partial<Record<Type["kind"], number>> = { list: 0, tuple: 1, set: 2 };

function sequencePreference(type: Type): number | undefined {
  return SEQUENCES[type.kind];
}

function compareSequences(a: Type, b: Type): number {
  return Math.sign((sequencePreference(a) ?? 0) - (sequencePreference(b) ?? 0));
}

function compareMapping(a: Type, b: Type): number {
  if (a.kind === "map" && b.kind === "object") return -1;
  if (a.kind === "object" && b.kind === "map") return 1;
  return 0;
}
