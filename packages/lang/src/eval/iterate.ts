import { Value } from "@stackwright/cty";

/**
 * Keys and elements of a known, unmarked collection or structure in the order of iteration: by
 * index, or by key in code-point order. The elements of a set are their own keys.
 */
export function* iterate(value: Value): Generator<readonly [key: Value, element: Value]> {
  switch (value.type.kind) {
    case "map":
    case "object":
      for (const [key, element] of value.entries()) yield [Value.string(key), element];
      return;
    case "set":
      for (const element of value.elements()) yield [element, element];
      return;
    case "bool":
    case "capsule":
    case "dynamic":
    case "list":
    case "number":
    case "string":
    case "tuple":
    default:
      for (const [position, element] of value.elements().entries()) {
        yield [Value.number(position), element];
      }
  }
}
