import type { Expression } from "@stackwright/lang";

/** The value of a string without sequences, in either syntax. */
export function textOf(expression: Expression): string | undefined {
  if (expression.kind === "json-string") return textOf(expression.template);
  return expression.kind === "string" ? expression.value : undefined;
}
