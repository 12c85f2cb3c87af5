import { encodeJson } from "@stackwright/cty";
import type { Attribute, Block, Body, Expression, SyntaxFile, Template } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors } from "../syntax/diagnostic.ts";
import { rangeOf, StaticReader } from "./static-reader.ts";

/*
 * Native syntax as JSON syntax. What JSON can say itself it says itself; everything else becomes a
 * string with one interpolation that holds the text as it was written. Only the order of arguments
 * and comments are lost.
 */

/** How the value of an argument is written. */
type Form =
  /** Strings are templates. */
  | "expression"
  /** Read without evaluation: strings are themselves. */
  | "literal"
  /** References and types: their text. */
  | "static";

/** What differs from `expression` in the blocks of the language, by type and name. */
const FORMS: Readonly<Record<string, Readonly<Record<string, Form>> | undefined>> = {
  variable: { type: "static", default: "literal", description: "literal", deprecated: "literal" },
  output: { depends_on: "static", description: "literal", deprecated: "literal" },
  module: { source: "literal", version: "literal", providers: "static", depends_on: "static" },
  provider: { alias: "literal", version: "literal" },
  resource: { depends_on: "static", provider: "static" },
  data: { depends_on: "static", provider: "static" },
  ephemeral: { depends_on: "static", provider: "static" },
  lifecycle: { ignore_changes: "static", replace_triggered_by: "static" },
  terraform: { required_version: "literal" },
  moved: { from: "static", to: "static" },
  removed: { from: "static" },
  import: { to: "static", provider: "static" },
  dynamic: { iterator: "static" },
};

/** JSON while it is put together: text, elements, or members by name. */
type Json = string | Json[] | Map<string, Json>;

/** A file in JSON syntax, and what could not be brought into it. */
export interface ExportedJson {
  readonly text: string;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Writes a file of native syntax as one of JSON syntax that means the same: the same declarations,
 * references and values. Numbers stay exact. Files with mistakes give what was understood of them.
 */
export function exportJson({ body }: Pick<SyntaxFile, "body">): ExportedJson {
  const exporter = new Exporter();
  const members = exporter.body(body, []);
  return { text: `${print(members, "")}\n`, diagnostics: exporter.diagnostics };
}

/** An iterator that nothing refers to. */
const UNUSED = "written_block";

class Exporter {
  readonly diagnostics: Diagnostic[] = [];
  readonly #reader = new StaticReader(this.diagnostics);

  /** `path` are the types of the blocks around the body. */
  body(body: Body, path: readonly string[]): Map<string, Json> {
    const members = new Map<string, Json>();
    for (const item of body.items) {
      if (item.kind === "attribute") members.set(item.name, this.#attribute(item, path));
    }
    const blocks = body.items.filter((item) => item.kind === "block");
    const mixed = mixedTypes(blocks);
    for (const block of blocks) {
      const inner = this.body(block.body, [...path, block.type]);
      const labels = block.labels.map(({ value }) => value);
      if (block.type !== "dynamic" && mixed.has(block.type)) {
        addBlock(members, ["dynamic", block.type], asDynamic(inner, labels));
      } else {
        addBlock(members, [block.type, ...labels], inner);
      }
    }
    return members;
  }

  #attribute({ name, expression }: Attribute, path: readonly string[]): Json {
    if (path.join(".") === "terraform.required_providers") return this.#requirement(expression);
    const form = FORMS[formKey(path)]?.[name] ?? "expression";
    if (form === "static") return staticJson(expression);
    return form === "literal" ? this.#literal(expression) : expressionJson(expression);
  }

  #requirement(expression: Expression): Json {
    if (expression.kind !== "object") return this.#literal(expression);
    const members = expression.items.map(({ key, value }) => {
      const name = key.literal ?? sourceText(key.expression).replace(/^"|"$/g, "");
      const references = name === "configuration_aliases";
      return [name, references ? staticJson(value) : this.#literal(value)] as const;
    });
    return new Map(members);
  }

  #literal(expression: Expression): Json {
    const before = this.diagnostics.length;
    const value = this.#reader.literal(expression);
    if (value !== undefined && !hasErrors(this.diagnostics.slice(before))) return encodeJson(value);
    if (this.diagnostics.length === before) {
      this.diagnostics.push({
        severity: "error",
        code: "LANG_STATIC",
        summary: "Value is not constant",
        detail: "This cannot be written in JSON syntax, where only constant values stand here.",
        subject: rangeOf(expression),
      });
    }
    return "null";
  }
}

/** Which entry of the forms counts in a body. Blocks of providers may have any names. */
function formKey(path: readonly string[]): string {
  const last = path.at(-1) ?? "";
  const own = path.length === 1 || last === "dynamic" || path.join(".") === "check.data";
  return own || (path.length === 2 && last === "lifecycle") ? last : "";
}

/**
 * Types with written and `dynamic` blocks in turn. JSON keeps the two apart, so that their order is
 * kept by writing all of them as dynamic ones.
 */
function mixedTypes(blocks: readonly Block[]): Set<string> {
  const dynamic = new Set<string>();
  for (const { type, labels } of blocks) {
    if (type === "dynamic" && labels[0] !== undefined) dynamic.add(labels[0].value);
  }
  return dynamic;
}

function asDynamic(content: Map<string, Json>, labels: readonly string[]): Map<string, Json> {
  const block = new Map<string, Json>([
    ["for_each", ["true"]],
    ["iterator", JSON.stringify(UNUSED)],
  ]);
  if (labels.length > 0)
    block.set(
      "labels",
      labels.map((label) => templateJson(label)),
    );
  return block.set("content", content);
}

/** Puts a block below its type and labels; several of the same ones become an array. */
function addBlock(members: Map<string, Json>, path: readonly string[], block: Json): void {
  const [name = "", ...rest] = path;
  const known = members.get(name);
  if (rest.length > 0) {
    const inner = known instanceof Map ? known : new Map<string, Json>();
    members.set(name, inner);
    addBlock(inner, rest, block);
  } else if (known === undefined) {
    members.set(name, block);
  } else {
    members.set(name, Array.isArray(known) ? [...known, block] : [known, block]);
  }
}

function sourceText({ source, start, end }: Pick<Expression, "source" | "start" | "end">): string {
  return source.text.slice(start, end);
}

/** A text in which nothing is a sequence. */
function escapeTemplate(text: string): string {
  return text.replaceAll(/[$%]\{/g, (opening) => `${opening.charAt(0)}${opening}`);
}

function templateJson(text: string): string {
  return JSON.stringify(escapeTemplate(text));
}

/** The text of an expression, or of the expressions in a list or map of them. */
function staticJson(expression: Expression): Json {
  if (expression.kind === "tuple") return expression.elements.map(staticJson);
  if (expression.kind === "object") {
    return new Map(expression.items.map(({ key, value }) => [sourceText(key), staticJson(value)]));
  }
  if (expression.kind === "string") return JSON.stringify(expression.value);
  return JSON.stringify(sourceText(expression));
}

function expressionJson(expression: Expression): Json {
  const { kind } = expression;
  if (kind === "number") return jsonNumber(expression.text);
  if (kind === "boolean") return String(expression.value);
  if (kind === "null") return "null";
  if (kind === "string") return templateJson(expression.value);
  if (kind === "tuple") return expression.elements.map(expressionJson);
  if (kind === "object") return objectJson(expression) ?? wrapped(expression);
  if (kind === "template") return JSON.stringify(templateText(expression) ?? wrapText(expression));
  if (kind === "unary" && expression.operator === "-" && expression.operand.kind === "number") {
    return `-${jsonNumber(expression.operand.text)}`;
  }
  return wrapped(expression);
}

/** A number as JSON writes it: without zeros in front. */
function jsonNumber(text: string): string {
  return text.replace(/^0+(?=\d)/, "");
}

function objectJson({
  items,
}: Extract<Expression, { kind: "object" }>): Map<string, Json> | undefined {
  const members = new Map<string, Json>();
  for (const { key, value } of items) {
    const name = keyText(key.literal, key.expression);
    // Of equal keys the last one counts, but JSON must not have them at all.
    if (members.has(name)) return undefined;
    members.set(name, expressionJson(value));
  }
  return members;
}

function keyText(literal: string | undefined, expression: Expression): string {
  if (literal !== undefined) return escapeTemplate(literal);
  if (expression.kind === "string") return escapeTemplate(expression.value);
  const template = expression.kind === "template" ? templateText(expression) : undefined;
  return template ?? wrapText(expression);
}

/** Everything else: one interpolation, in which the text stands as it was written. */
function wrapped(expression: Expression): string {
  return JSON.stringify(wrapText(expression));
}

function wrapText(expression: Expression): string {
  // A heredoc ends with a line of its own.
  const text = sourceText(expression);
  return `\${${text}${text.includes("\n") ? "\n" : ""}}`;
}

/** The parts of a template as text; undefined where that would be ambiguous. */
function templateText({ parts, source }: Template): string | undefined {
  let text = "";
  let literal = "";
  for (const part of parts) {
    if (part.kind === "string") {
      literal += part.value;
      continue;
    }
    // A directive is no interpolation, and a sign in front would escape one.
    if (source.text.startsWith("%{", part.start) || /[$%]$/.test(literal)) return undefined;
    text += `${escapeTemplate(literal)}${wrapText(part)}`;
    literal = "";
  }
  return text + escapeTemplate(literal);
}

function print(json: Json, indent: string): string {
  if (typeof json === "string") return json;
  const inner = `${indent}  `;
  const lines = Array.isArray(json)
    ? json.map((element) => print(element, inner))
    : [...json].map(([name, value]) => `${JSON.stringify(name)}: ${print(value, inner)}`);
  const [open, close] = Array.isArray(json) ? "[]" : "{}";
  if (lines.length === 0) return `${open}${close}`;
  return `${open}\n${lines.map((line) => inner + line).join(",\n")}\n${indent}${close}`;
}
