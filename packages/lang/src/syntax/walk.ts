import { unreachable } from "../internal/unreachable.ts";
import type { Expression } from "./ast.ts";

/** The expressions directly inside of one, in the order of the source. Keys of objects included. */
export function childExpressions(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "number":
    case "boolean":
    case "null":
    case "string":
    case "scope-traversal":
    case "splat-item":
    case "invalid":
      return [];
    case "json-string":
      return [expression.template];
    case "template":
      return expression.parts;
    case "template-wrap":
    case "parentheses":
      return [expression.expression];
    case "template-join":
      return [expression.loop];
    case "relative-traversal":
      return [expression.from];
    case "index":
      return [expression.collection, expression.key];
    case "splat":
      return [expression.from, expression.each];
    case "call":
      return expression.arguments;
    case "conditional":
      return [expression.condition, expression.whenTrue, expression.whenFalse];
    case "binary":
      return [expression.left, expression.right];
    case "unary":
      return [expression.operand];
    case "tuple":
      return expression.elements;
    case "object":
      return expression.items.flatMap(({ key, value }) =>
        key.literal === undefined ? [key.expression, value] : [value],
      );
    case "for": {
      const { collection, key, value, condition } = expression;
      return [collection, key, value, condition].filter((child) => child !== undefined);
    }
    default:
      return unreachable(expression);
  }
}
