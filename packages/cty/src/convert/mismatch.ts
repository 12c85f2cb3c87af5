import { typeName } from "../type/names.ts";
import { isCollectionType, isPrimitiveType, type ObjectType, type Type } from "../type/type.ts";
import type { Converter } from "./converter.ts";

/**
 * Why there is no conversion between two types, for the author of the value. Descends to the part that
 * causes the mismatch where there is only one.
 */
export function mismatchMessage(converter: Converter, got: Type, want: Type): string {
  if (got.kind === "object" && want.kind === "object") return objectMismatch(converter, got, want);
  const structural = got.kind === "tuple" || got.kind === "object";
  if (structural && isCollectionType(want)) {
    return partMismatch(converter, got, want.kind, want.element);
  }
  if (isCollectionType(got) && isCollectionType(want)) {
    const sequences = want.kind !== "map" && got.kind !== "map";
    if (!sequences && want.kind !== got.kind) return plainMismatch(got, want);
    return `elements of the ${want.kind}: ${mismatchMessage(converter, got.element, want.element)}`;
  }
  if (
    got.kind === "tuple" &&
    want.kind === "tuple" &&
    got.elements.length !== want.elements.length
  ) {
    return `expected a tuple of ${want.elements.length} elements, got ${got.elements.length}`;
  }
  return plainMismatch(got, want);
}

function plainMismatch(got: Type, want: Type): string {
  const wanted = typeName(want, true);
  // A string that should be a number may well hold one, so its type is not what is wrong with it.
  const convertible = isPrimitiveType(got) && isPrimitiveType(want) && got.kind === "string";
  return convertible ? `expected ${wanted}` : `expected ${wanted}, got ${typeName(got)}`;
}

function objectMismatch(converter: Converter, got: ObjectType, want: ObjectType): string {
  const missing = want.names.filter((name) => !got.has(name) && !want.optional.has(name));
  if (missing.length > 0) {
    const names = missing.map((name) => JSON.stringify(name)).join(", ");
    return missing.length === 1
      ? `attribute ${names} is missing`
      : `attributes ${names} are missing`;
  }
  for (const unsafe of [true, false]) {
    for (const [name, type] of want.attributes()) {
      const from = got.attribute(name);
      if (from === undefined || from.equals(type)) continue;
      if (converter.find(from, type, unsafe) === undefined) {
        return `attribute ${JSON.stringify(name)}: ${mismatchMessage(converter, from, type)}`;
      }
    }
  }
  return "the attributes of the objects do not fit";
}

function partMismatch(
  converter: Converter,
  got: Extract<Type, { kind: "tuple" | "object" }>,
  kind: "list" | "set" | "map",
  element: Type,
): string {
  if ((got.kind === "object") !== (kind === "map")) return `expected ${kind}, got ${got.kind}`;
  if (element.kind === "dynamic") return `all elements of a ${kind} must be of one type`;
  const parts: readonly (readonly [number | string, Type])[] =
    got.kind === "tuple" ? [...got.elements.entries()] : [...got.attributes()];
  for (const [key, type] of parts) {
    if (type.equals(element) || converter.find(type, element, true) !== undefined) continue;
    return `element ${JSON.stringify(key)}: ${mismatchMessage(converter, type, element)}`;
  }
  return `all elements must be ${typeName(element, true)}`;
}
