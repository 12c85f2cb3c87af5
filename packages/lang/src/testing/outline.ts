import { unreachable } from "../internal/unreachable.ts";
import type { Body, Expression, TraversalStep } from "../syntax/ast.ts";

/** An expression in one line, every node visible: what tests compare trees with. */
export function outline(node: Expression): string {
  switch (node.kind) {
    case "number":
      return node.text;
    case "boolean":
      return String(node.value);
    case "null":
      return "null";
    case "string":
      return JSON.stringify(node.value);
    case "json-string":
      return `json(${outline(node.template)})`;
    case "template":
      return `template(${node.parts.map(outline).join(" ")})`;
    case "template-wrap":
      return `wrap(${outline(node.expression)})`;
    case "template-join":
      return `join(${outline(node.loop)})`;
    case "scope-traversal":
      return node.root + steps(node.steps);
    case "relative-traversal":
      return `(${outline(node.from)})${steps(node.steps)}`;
    case "index":
      return `index(${outline(node.collection)} ${outline(node.key)})`;
    case "splat":
      return `splat(${outline(node.from)} ${outline(node.each)})`;
    case "splat-item":
      return "@";
    case "call": {
      const args = node.arguments.map(outline).join(" ");
      return `${node.name}(${args}${node.expandFinal ? "..." : ""})`;
    }
    case "conditional":
      return `if(${[node.condition, node.whenTrue, node.whenFalse].map(outline).join(" ")})`;
    case "binary":
      return `(${outline(node.left)} ${node.operator} ${outline(node.right)})`;
    case "unary":
      return `(${node.operator}${outline(node.operand)})`;
    case "tuple":
      return `[${node.elements.map(outline).join(" ")}]`;
    case "object": {
      const items = node.items.map(
        ({ key, value }) => `${key.literal ?? `(${outline(key.expression)})`}=${outline(value)}`,
      );
      return `{${items.join(" ")}}`;
    }
    case "for": {
      const names =
        node.keyName === undefined ? node.valueName : `${node.keyName},${node.valueName}`;
      const key = node.key === undefined ? "" : `${outline(node.key)}=>`;
      const group = node.group ? "..." : "";
      const condition = node.condition === undefined ? "" : ` if ${outline(node.condition)}`;
      return `for(${names} in ${outline(node.collection)}: ${key}${outline(node.value)}${group}${condition})`;
    }
    case "parentheses":
      return `paren(${outline(node.expression)})`;
    case "invalid":
      return "?";
    default:
      return unreachable(node);
  }
}

function steps(list: readonly TraversalStep[]): string {
  return list
    .map((step) => (step.kind === "attribute-step" ? `.${step.name}` : `[${outline(step.key)}]`))
    .join("");
}

/** A body in one line. */
export function outlineBody(body: Body): string {
  return body.items
    .map((item) =>
      item.kind === "attribute"
        ? `${item.name}=${outline(item.expression)}`
        : `${[item.type, ...item.labels.map(({ value }) => JSON.stringify(value))].join(" ")}{${outlineBody(item.body)}}`,
    )
    .join("; ");
}
