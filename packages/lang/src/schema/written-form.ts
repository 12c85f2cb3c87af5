import type { ConfigBody } from "../config/body-content.ts";
import type { Expression } from "../syntax/ast.ts";

/** Whether the blocks of a body, `dynamic` ones included, give a value for an attribute. */
export function writtenAsBlock(body: ConfigBody, name: string): boolean {
  switch (body.kind) {
    case "merged-body":
      return mentions(body.over, name)
        ? writtenAsBlock(body.over, name)
        : writtenAsBlock(body.base, name);
    case "json-body":
      // In JSON both look alike; only dynamic blocks differ.
      return (
        !body.objects.some(({ members }) => members.some((m) => m.name.value === name)) &&
        mentions(body, name)
      );
    case "body":
    default:
      return body.items.some(
        (item) =>
          item.kind === "block" &&
          (item.type === name || (item.type === "dynamic" && item.labels[0]?.value === name)),
      );
  }
}

function mentions(body: ConfigBody, name: string): boolean {
  switch (body.kind) {
    case "merged-body":
      return mentions(body.base, name) || mentions(body.over, name);
    case "json-body":
      return body.objects.some(({ members }) =>
        members.some(
          ({ name: { value: key }, value }) =>
            key === name ||
            (key === "dynamic" &&
              value.kind === "object" &&
              value.members.some((member) => member.name.value === name)),
        ),
      );
    case "body":
    default:
      return body.items.some((item) =>
        item.kind === "attribute"
          ? item.name === name
          : item.type === name || (item.type === "dynamic" && item.labels[0]?.value === name),
      );
  }
}

/** The object literals that an expression gives for a nested attribute. */
export function literalObjects(
  expression: Expression,
  nesting: "single" | "list" | "set" | "map",
): Extract<Expression, { kind: "object" }>[] {
  if (expression.kind === "parentheses") return literalObjects(expression.expression, nesting);
  if (nesting === "single") return expression.kind === "object" ? [expression] : [];
  if (nesting === "map") {
    if (expression.kind !== "object") return [];
    return expression.items.flatMap(({ value }) => literalObjects(value, "single"));
  }
  if (expression.kind !== "tuple") return [];
  return expression.elements.flatMap((element) => literalObjects(element, "single"));
}
