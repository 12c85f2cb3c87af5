import { unreachable } from "../unreachable.ts";
import type { Type } from "./type.ts";

/**
 * A short English name for messages: `string`, `list of number`, `object`. With `constraint`, `dynamic` is called
 * "any type" and collections of it have a singular name.
 */
export function typeName(type: Type, constraint = false): string {
  switch (type.kind) {
    case "dynamic":
      return constraint ? "any type" : "dynamic";
    case "list":
    case "set":
    case "map":
      if (constraint && type.element.kind === "dynamic") return `any ${type.kind}`;
      return `${type.kind} of ${typeName(type.element, constraint)}`;
    case "capsule":
      return type.name;
    case "string":
    case "number":
    case "bool":
    case "object":
    case "tuple":
      return type.kind;
    default:
      return unreachable(type);
  }
}

/** Attribute names that need no quotes. */
const IDENTIFIER = /^[\p{ID_Start}_][\p{ID_Continue}-]*$/u;

/**
 * The type as an expression of the template language, on one line: `list(object({a=string,b=optional(number)}))`.
 * `dynamic` is written `any`.
 */
export function typeExpression(type: Type): string {
  switch (type.kind) {
    case "dynamic":
      return "any";
    case "list":
    case "set":
    case "map":
      return `${type.kind}(${typeExpression(type.element)})`;
    case "tuple":
      return `tuple([${type.elements.map(typeExpression).join(",")}])`;
    case "object": {
      const parts: string[] = [];
      for (const [name, attribute] of type.attributes()) {
        const inner = typeExpression(attribute);
        const shown = type.optional.has(name) ? `optional(${inner})` : inner;
        parts.push(`${IDENTIFIER.test(name) ? name : JSON.stringify(name)}=${shown}`);
      }
      return `object({${parts.join(",")}})`;
    }
    case "capsule":
      return type.name;
    case "string":
    case "number":
    case "bool":
      return type.kind;
    default:
      return unreachable(type);
  }
}
