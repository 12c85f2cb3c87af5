import { unreachable } from "../unreachable.ts";
import type { Type } from "./type.ts";

/**
 * Whether the type satisfies the constraint without conversion: equal, except that `dynamic` in the constraint stands
 * for anything. Whether attributes are optional plays no part.
 */
export function conformsTo(type: Type, constraint: Type): boolean {
  if (constraint.kind === "dynamic" || type === constraint) return true;
  switch (constraint.kind) {
    case "string":
    case "number":
    case "bool":
      return type.kind === constraint.kind;
    case "list":
    case "set":
    case "map":
      return type.kind === constraint.kind && conformsTo(type.element, constraint.element);
    case "tuple":
      return type.kind === "tuple" && allConform(type.elements, constraint.elements);
    case "object":
      return (
        type.kind === "object" &&
        type.names.length === constraint.names.length &&
        type.names.every((name, i) => constraint.names[i] === name) &&
        allConform(type.types, constraint.types)
      );
    case "capsule":
      return false;
    default:
      return unreachable(constraint);
  }
}

function allConform(types: readonly Type[], constraints: readonly Type[]): boolean {
  return (
    types.length === constraints.length &&
    types.every((type, i) => {
      const constraint = constraints[i];
      return constraint !== undefined && conformsTo(type, constraint);
    })
  );
}
