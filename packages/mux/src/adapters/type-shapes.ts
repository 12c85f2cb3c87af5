import type { Type } from "@stackwright/cty";
import type { PropertyShape } from "./package-types.ts";

/** How values of a type travel as Pulumi properties: sets as lists, tuples and open types as they look. */
function shapeOfType(type: Type): PropertyShape {
  switch (type.kind) {
    case "string":
    case "number":
    case "bool":
      return { kind: type.kind };
    case "list":
    case "set":
      return { kind: "list", element: shapeOfType(type.element) };
    case "map":
      return { kind: "map", element: shapeOfType(type.element) };
    case "object":
      return { kind: "object", members: shapesOfObject(type) };
    case "tuple":
    case "dynamic":
    case "capsule":
      return { kind: "any" };
    default:
      return type satisfies never;
  }
}

export function shapesOfObject(
  type: Extract<Type, { kind: "object" }>,
): ReadonlyMap<string, PropertyShape> {
  return new Map([...type.attributes()].map(([name, member]) => [name, shapeOfType(member)]));
}
