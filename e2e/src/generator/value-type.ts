import type { Dice } from "./dice.ts";

/** The type of an expression that is generated. */
export type ValueType =
  | { readonly kind: "string" | "number" | "bool" }
  | { readonly kind: "list" | "set" | "map"; readonly element: ValueType }
  | { readonly kind: "object"; readonly attributes: ReadonlyMap<string, ValueType> };

export const STRING: ValueType = { kind: "string" };
export const NUMBER: ValueType = { kind: "number" };
export const BOOL: ValueType = { kind: "bool" };

const ATTRIBUTE_NAMES = ["name", "size", "tags", "on", "deep"] as const;

/** A type of at most so many levels. */
export function someType(dice: Dice, depth: number): ValueType {
  const kind = dice.below(depth > 0 ? 10 : 5);
  if (kind < 3) return STRING;
  if (kind === 3) return NUMBER;
  if (kind === 4) return BOOL;
  if (kind < 8) {
    const collection = dice.pick(["list", "set", "map"] as const);
    // Sets of objects are compared by their whole content, which other cases have; here their elements are simple.
    return { kind: collection, element: someType(dice, collection === "set" ? 0 : depth - 1) };
  }
  const names = ATTRIBUTE_NAMES.filter(() => dice.chance(50));
  return {
    kind: "object",
    attributes: new Map(
      (names.length === 0 ? ["name"] : names).map((name) => [name, someType(dice, depth - 1)]),
    ),
  };
}

/** The type as a variable declares it. */
export function typeText(type: ValueType): string {
  switch (type.kind) {
    case "string":
    case "number":
    case "bool":
      return type.kind;
    case "list":
    case "set":
    case "map":
      return `${type.kind}(${typeText(type.element)})`;
    case "object": {
      const members = [...type.attributes].map(([name, own]) => `${name} = ${typeText(own)}`);
      return `object({ ${members.join(", ")} })`;
    }
    default:
      return type satisfies never;
  }
}

/** Whether both are the same type. */
export function sameType(left: ValueType, right: ValueType): boolean {
  return typeText(left) === typeText(right);
}
