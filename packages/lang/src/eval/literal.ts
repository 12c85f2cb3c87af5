import { Value } from "@stackwright/cty";
import type { NumberLiteral } from "../syntax/ast.ts";

/** The exact value of a number. The parser has checked its syntax and its size. */
export function evaluateNumber(node: NumberLiteral): Value {
  return Value.parseNumber(node.text);
}
