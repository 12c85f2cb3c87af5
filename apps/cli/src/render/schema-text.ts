import { typeExpression } from "@stackwright/cty";
import type {
  AttributeSchema,
  BlockSchema,
  FunctionSchema,
  NestedBlockSchema,
} from "@stackwright/mux/router";
import { printable, printableLines } from "../terminal/printable.ts";
import { wrapWords } from "../terminal/wrap-words.ts";

/** Where examples of other languages begin in a description of a package of Pulumi. */
const EXAMPLES = "{{% examples %}}";

/** What a provider wrote of something, for a terminal: its paragraphs with an indent. Empty where it wrote nothing. */
export function descriptionText(text: string, indent: string, columns: number): string {
  const [description = ""] = text.split(EXAMPLES, 1);
  const lines = description
    .trim()
    .split("\n")
    .map((line) => (line.trim() === "" ? "" : `${indent}${printable(line.trimEnd())}`));
  return description.trim() === "" ? "" : `${wrapWords(lines.join("\n"), columns, indent)}\n`;
}

/** The first sentence of a description, for a line of a list. */
export function firstSentence(text: string): string {
  const [description = ""] = text.split(EXAMPLES, 1);
  const [paragraph = ""] = description.trim().split(/\n\s*\n/, 1);
  const line = paragraph.replaceAll(/\s+/g, " ");
  return printable(/^.*?[.!?](?= |$)/.exec(line)?.[0] ?? line);
}

/** What may be written in a block, and what the provider decides, in words. */
export function blockText(block: BlockSchema, columns: number): string {
  const given = [...block.attributes].filter(([, { required, optional }]) => required || optional);
  const decided = [...block.attributes].filter(
    ([, { required, optional }]) => !required && !optional,
  );
  // What has to be written comes first.
  const sorted = given.toSorted(([, a], [, b]) => Number(b.required) - Number(a.required));
  return [
    section("Arguments", sorted, columns),
    block.blocks.size === 0 ? "" : `\nBlocks\n${blocksText(block.blocks, "  ", columns)}`,
    section("Decided by the provider", decided, columns),
  ].join("");
}

/** A function of a provider: how it is called, and what its parameters are. */
export function functionText(name: string, schema: FunctionSchema, columns: number): string {
  const all = [...schema.parameters, ...(schema.variadic === undefined ? [] : [schema.variadic])];
  const written = all.map((parameter) => {
    const rest = parameter === schema.variadic ? "..." : "";
    return `${parameter.name}${rest} ${typeExpression(parameter.type)}`;
  });
  const described = all
    .filter(({ description }) => description !== "")
    .map(
      (parameter) =>
        `  ${parameter.name}\n${descriptionText(parameter.description, "      ", columns)}`,
    );
  const signature = `\n  ${name}(${written.join(", ")}) ${typeExpression(schema.returnType)}\n`;
  return printableLines(signature) + (described.length === 0 ? "" : `\n${described.join("")}`);
}

function section(
  title: string,
  attributes: readonly (readonly [string, AttributeSchema])[],
  columns: number,
): string {
  if (attributes.length === 0) return "";
  return `\n${title}\n${attributesText(attributes, "  ", columns)}`;
}

function attributesText(
  attributes: Iterable<readonly [string, AttributeSchema]>,
  indent: string,
  columns: number,
): string {
  return [...attributes]
    .map(([name, attribute]) => {
      const { nested, description } = attribute;
      const type =
        nested === undefined ? typeExpression(attribute.type) : `${nested.nesting} of objects with`;
      const facts = factsOf(attribute);
      const line = `${indent}${name}  ${[type, ...facts].join(", ")}\n`;
      const inner =
        nested === undefined ? "" : attributesText(nested.attributes, `${indent}    `, columns);
      return printableLines(line) + descriptionText(description, `${indent}    `, columns) + inner;
    })
    .join("");
}

function factsOf({
  required,
  optional,
  computed,
  sensitive,
  writeOnly,
  deprecated,
}: AttributeSchema): string[] {
  return [
    ...(required ? ["required"] : []),
    ...(optional && computed ? ["decided by the provider where it is left out"] : []),
    ...(optional && !computed ? ["optional"] : []),
    ...(sensitive ? ["sensitive"] : []),
    ...(writeOnly ? ["not stored"] : []),
    ...(deprecated ? ["deprecated"] : []),
  ];
}

function blocksText(
  blocks: ReadonlyMap<string, NestedBlockSchema>,
  indent: string,
  columns: number,
): string {
  return [...blocks]
    .map(([name, { nesting, block, minItems, maxItems }]) => {
      const facts = [
        nesting === "single" || nesting === "group" ? "one" : nesting,
        ...(minItems > 0 ? [`at least ${minItems}`] : []),
        ...(maxItems > 0 ? [`at most ${maxItems}`] : []),
        ...(block.deprecated ? ["deprecated"] : []),
      ];
      const inner = `${indent}    `;
      return (
        printableLines(`${indent}${name}  ${facts.join(", ")}\n`) +
        descriptionText(block.description, inner, columns) +
        attributesText(block.attributes, inner, columns) +
        blocksText(block.blocks, inner, columns)
      );
    })
    .join("");
}
