import {
  type Expression,
  isIdentifier,
  type JsonStringNode,
  type JsonSyntaxNode,
  jsonExpression,
  quoteLiteral,
} from "@stackwright/lang";
import type { JsonBodyModel } from "./json-model.ts";

/** How the strings of an argument are meant. */
type Form = "template" | "literal" | "expression";

/** By the block around them: arguments whose strings are no templates. */
const FORMS: Readonly<Record<string, Readonly<Record<string, Form>>>> = {
  variable: {
    type: "expression",
    default: "literal",
    description: "literal",
    deprecated: "literal",
  },
  output: { description: "literal", deprecated: "literal", depends_on: "expression" },
  module: {
    source: "literal",
    version: "literal",
    providers: "expression",
    depends_on: "expression",
  },
  provider: { alias: "literal", version: "literal" },
  terraform: { required_version: "literal" },
  resource: { depends_on: "expression", provider: "expression" },
  data: { depends_on: "expression", provider: "expression" },
  ephemeral: { depends_on: "expression", provider: "expression" },
  lifecycle: { ignore_changes: "expression", replace_triggered_by: "expression" },
  moved: { from: "expression", to: "expression" },
  removed: { from: "expression" },
  import: { to: "expression", provider: "expression" },
  dynamic: { iterator: "expression" },
};

/** Names that mean something at the beginning of an object or a value. */
const KEYWORDS: ReadonlySet<string> = new Set(["for", "true", "false", "null"]);

/** A body in native syntax, not formatted. What has no equal text there is written as it is, and shows when the text is read again. */
export function nativeText({ attributes, blocks }: JsonBodyModel, around = ""): string {
  const lines = attributes.map(([name, value]) => {
    const form = around === "required_providers" ? requirementForm : () => formOf(around, name);
    return `${name} = ${valueText(value, form)}\n`;
  });
  const written = blocks.map(({ type, labels, body }, at) => {
    const quoted = labels.map((label) => ` "${quoteLiteral(label)}"`).join("");
    const gap = at > 0 || lines.length > 0 ? "\n" : "";
    return `${gap}${type}${quoted} {\n${nativeText(body, type)}}\n`;
  });
  return [...lines, ...written].join("");
}

function formOf(around: string, name: string): Form {
  return FORMS[around]?.[name] ?? "template";
}

function requirementForm(key: string | undefined): Form {
  return key === "configuration_aliases" ? "expression" : "literal";
}

/** A value, with the form of the strings in it by the key of the object that it is. */
function valueText(
  value: JsonSyntaxNode,
  form: (key: string | undefined) => Form,
  key?: string,
): string {
  if (value.kind === "array") {
    const elements = value.elements.map((each) => valueText(each, form, key));
    const isLong = value.elements.some(({ kind }) => kind === "object");
    return isLong ? `[\n${elements.join(",\n")},\n]` : `[${elements.join(", ")}]`;
  }
  if (value.kind === "object") {
    if (value.members.length === 0) return "{}";
    const members = value.members.map(({ name, value: inner }) => {
      const ownKey = key ?? name.value;
      return `${keyText(name, form(key))} = ${valueText(inner, form, ownKey)}\n`;
    });
    return `{\n${members.join("")}}`;
  }
  if (value.kind !== "string") return value.source.text.slice(value.start, value.end);
  return stringText(value, form(key));
}

function stringText(node: JsonStringNode, form: Form): string {
  if (form === "expression") return node.value;
  if (form === "literal") return `"${quoteLiteral(node.value)}"`;
  const expression = jsonExpression(node, []);
  return expression.kind === "json-string" ? templateText(expression.template) : "";
}

function templateText(template: Expression): string {
  if (template.kind === "template-wrap") return sourceText(template.expression);
  const parts = template.kind === "template" ? template.parts : [template];
  const written = parts.map((part) =>
    part.kind === "string" ? quoteLiteral(part.value) : `\${${sourceText(part)}}`,
  );
  return `"${written.join("")}"`;
}

function keyText(name: JsonStringNode, form: Form): string {
  const { value } = name;
  if (isIdentifier(value) && !KEYWORDS.has(value)) return value;
  if (form === "expression") return value;
  const computed = form === "template" ? /^\$\{(\(.*\))\}$/s.exec(value)?.[1] : undefined;
  return computed ?? stringText(name, form);
}

function sourceText({ source, start, end }: Expression): string {
  return source.text.slice(start, end);
}
