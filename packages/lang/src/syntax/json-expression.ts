import { append } from "@stackwright/base/append";
import { unreachable } from "../internal/unreachable.ts";
import type { Expression, ObjectItem, ObjectKey } from "./ast.ts";
import type { Diagnostic } from "./diagnostic.ts";
import { type JsonStringNode, type JsonSyntaxNode, jsonTextSource } from "./json-tree.ts";
import type { SyntaxLimits } from "./limits.ts";
import { parseTemplate } from "./parse.ts";

/**
 * The expression that a JSON value means: strings and names of members are templates, everything
 * else is itself. Mistakes in the templates are added to `diagnostics`, at their place in the file.
 */
export function jsonExpression(
  value: JsonSyntaxNode,
  diagnostics: Diagnostic[],
  limits?: SyntaxLimits,
): Expression {
  const { source, start, end } = value;
  switch (value.kind) {
    case "null":
    case "invalid":
      return { kind: value.kind, source, start, end };
    case "boolean":
      return { kind: "boolean", source, start, end, value: value.value };
    case "number":
      return { kind: "number", source, start, end, text: value.text };
    case "string":
      return jsonString(value, diagnostics, limits);
    case "array": {
      const elements = value.elements.map((element) =>
        jsonExpression(element, diagnostics, limits),
      );
      return { kind: "tuple", source, start, end, elements };
    }
    case "object": {
      const items = value.members.map((member): ObjectItem => {
        const name = jsonString(member.name, diagnostics, limits);
        const key: ObjectKey = {
          kind: "object-key",
          source,
          start: member.name.start,
          end: member.name.end,
          literal: undefined,
          expression: name,
        };
        return { key, value: jsonExpression(member.value, diagnostics, limits) };
      });
      return { kind: "object", source, start, end, items };
    }
    default:
      return unreachable(value);
  }
}

function jsonString(
  value: JsonStringNode,
  diagnostics: Diagnostic[],
  limits: SyntaxLimits | undefined,
): Expression {
  const { source, start, end } = value;
  const text = jsonTextSource(value);
  const { value: template, diagnostics: found } = parseTemplate(text, limits);
  append(diagnostics, found);
  return { kind: "json-string", source, start, end, text, template };
}
