import type { TypeToken } from "@stackwright/provider-source";
import { unreachable } from "../internal/unreachable.ts";
import type { Attribute, Block, Body, Expression } from "../syntax/ast.ts";
import { type Diagnostic, sourceRange } from "../syntax/diagnostic.ts";
import { jsonExpression } from "../syntax/json-expression.ts";
import type {
  JsonMember,
  JsonObjectNode,
  JsonStringNode,
  JsonSyntaxNode,
} from "../syntax/json-tree.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import { didYouMean } from "../syntax/suggestion.ts";

/**
 * A body in either syntax. What a member of a JSON object means (an argument or blocks, and with
 * how many labels) depends on the schema, so that it stays as it is until it is read with one.
 */
export type ConfigBody = Body | JsonBody | MergedBody;

/** A body with another one, from an override file, over it. */
export interface MergedBody {
  readonly kind: "merged-body";
  readonly base: ConfigBody;
  readonly over: ConfigBody;
}

/** The objects of a JSON file that together make one body. */
export interface JsonBody {
  readonly kind: "json-body";
  readonly objects: readonly JsonObjectNode[];
  /** Where to point for what is missing. */
  readonly range: SourceRange;
}

/** What may stand in a body. */
export interface BodySchema {
  /** Names of arguments. */
  readonly attributes?: readonly string[];
  /**
   * Arguments that are read without evaluation: their strings in JSON files are plain text and no
   * templates, so that mistakes in what looks like one are none. `true` stands for all.
   */
  readonly literals?: readonly string[] | true;
  /** Arguments that must be there. */
  readonly required?: readonly string[];
  /** Types of blocks with the names of their labels. */
  readonly blocks?: Readonly<Record<string, readonly string[]>>;
}

/** An argument with its value still an expression. */
export interface ContentAttribute {
  readonly name: string;
  readonly nameRange: SourceRange;
  readonly expression: Expression;
}

export interface ContentLabel {
  readonly value: string;
  readonly range: SourceRange;
  /** The token that was written, where the value is the name of one. */
  readonly token?: TypeToken;
}

/** A block with its body still unread. */
export interface ContentBlock {
  readonly type: string;
  readonly labels: readonly ContentLabel[];
  /** Type and labels, for messages about the block as a whole. */
  readonly headerRange: SourceRange;
  readonly body: ConfigBody;
}

/** The parts of a body that a schema names. */
export interface BodyContent {
  readonly attributes: ReadonlyMap<string, ContentAttribute>;
  /** In the order of the source. */
  readonly blocks: readonly ContentBlock[];
}

/** How a body is read. */
export interface ReadBodyOptions {
  /** Names that another reader takes from the same body; `true` leaves all unknown ones alone. */
  readonly ignore?: ReadonlySet<string> | true;
}

/** Reads a body by a schema. What does not fit is reported and left out. */
export function readBody(
  body: ConfigBody,
  schema: BodySchema,
  diagnostics: Diagnostic[],
  options: ReadBodyOptions = {},
): BodyContent {
  const content = readParts(body, schema, diagnostics, options);
  for (const name of schema.required ?? []) {
    if (content.attributes.has(name)) continue;
    diagnostics.push({
      severity: "error",
      code: "LANG_BODY",
      summary: "Missing required argument",
      detail: `The argument "${name}" is required, but it is not set.`,
      subject: bodyRange(body),
    });
  }
  return content;
}

function readParts(
  body: ConfigBody,
  schema: BodySchema,
  diagnostics: Diagnostic[],
  options: ReadBodyOptions,
): BodyContent {
  if (body.kind !== "merged-body") {
    const reader = new BodyReader(schema, diagnostics, options);
    return body.kind === "body" ? reader.native(body) : reader.json(body);
  }
  const base = readParts(body.base, schema, diagnostics, options);
  const over = readParts(body.over, schema, diagnostics, options);
  const replaced = new Set(over.blocks.map(meantType));
  const kept = base.blocks.filter((block) => !replaced.has(meantType(block)));
  const replacing = over.blocks.map((block): ContentBlock => {
    // Of this one the arguments replace each other one by one; other blocks are replaced whole.
    const earlier = base.blocks.find(({ type }) => type === block.type);
    if (block.type !== "lifecycle" || earlier === undefined) return block;
    return { ...block, body: { kind: "merged-body", base: earlier.body, over: block.body } };
  });
  return {
    attributes: new Map([...base.attributes, ...over.attributes]),
    blocks: [...kept, ...replacing],
  };
}

/** The type of the blocks that a block stands for: that of a `dynamic` block is its label. */
function meantType({ type, labels }: ContentBlock): string {
  return type === "dynamic" ? (labels[0]?.value ?? type) : type;
}

/** All arguments of a body that takes any names and no blocks, such as that of `locals`. */
export function readAttributes(
  body: ConfigBody,
  diagnostics: Diagnostic[],
  options: Pick<BodySchema, "literals"> = {},
): ReadonlyMap<string, ContentAttribute> {
  const attributes = [...new Set(argumentNames(body))];
  return readBody(body, { ...options, attributes }, diagnostics).attributes;
}

function argumentNames(body: ConfigBody): string[] {
  switch (body.kind) {
    case "body":
      return body.items.flatMap((item) => (item.kind === "attribute" ? [item.name] : []));
    case "json-body":
      return body.objects
        .flatMap(({ members }) => members.map(({ name }) => name.value))
        .filter((name) => name !== "//");
    case "merged-body":
      return [...argumentNames(body.base), ...argumentNames(body.over)];
    default:
      return unreachable(body);
  }
}

/** Returns the brace that represents a body in problems of the body as a whole, such as a missing argument. */
export function bodyRange(body: ConfigBody): SourceRange {
  if (body.kind === "merged-body") return bodyRange(body.base);
  if (body.kind === "json-body") {
    const [object] = body.objects;
    // As in the reference: the closing brace of an object, the opening bracket of an array.
    if (object === undefined || body.objects.length > 1 || object.start !== body.range.start) {
      return sourceRange(body.range.source, body.range.start, body.range.start + 1);
    }
    return sourceRange(object.source, Math.max(object.start, object.end - 1), object.end);
  }
  return sourceRange(body.source, body.start, Math.min(body.end, body.start + 1));
}

function range({
  source,
  start,
  end,
}: {
  source: SourceRange["source"];
  start: number;
  end: number;
}) {
  return sourceRange(source, start, end);
}

class BodyReader {
  readonly #schema: BodySchema;
  readonly #diagnostics: Diagnostic[];
  readonly #options: ReadBodyOptions;
  /** Of the schema: that of a body which takes any names has as many as the body has arguments. */
  readonly #names: ReadonlySet<string>;
  readonly #attributes = new Map<string, ContentAttribute>();
  readonly #blocks: ContentBlock[] = [];

  constructor(schema: BodySchema, diagnostics: Diagnostic[], options: ReadBodyOptions) {
    this.#schema = schema;
    this.#diagnostics = diagnostics;
    this.#options = options;
    this.#names = new Set(schema.attributes);
  }

  #fail(summary: string, detail: string, subject: SourceRange): void {
    this.#diagnostics.push({ severity: "error", code: "LANG_BODY", summary, detail, subject });
  }

  #result(): BodyContent {
    return { attributes: this.#attributes, blocks: this.#blocks };
  }

  #isIgnored(name: string): boolean {
    const { ignore } = this.#options;
    return ignore === true || ignore?.has(name) === true;
  }

  #labelsOf(type: string): readonly string[] | undefined {
    const { blocks = {} } = this.#schema;
    return Object.hasOwn(blocks, type) ? blocks[type] : undefined;
  }

  #isAttribute(name: string): boolean {
    return this.#names.has(name);
  }

  // ---- native syntax ----

  native(body: Body): BodyContent {
    for (const item of body.items) {
      if (item.kind === "attribute") this.#nativeAttribute(item);
      else this.#nativeBlock(item);
    }
    return this.#result();
  }

  #nativeAttribute({ source, start, nameEnd, name, expression }: Attribute): void {
    const nameRange = sourceRange(source, start, nameEnd);
    if (this.#isAttribute(name)) {
      this.#attributes.set(name, { name, nameRange, expression });
      return;
    }
    if (this.#isIgnored(name)) return;
    const known = this.#labelsOf(name);
    const detail =
      known === undefined
        ? `An argument named "${name}" is not expected here.${didYouMean(name, this.#schema.attributes ?? [])}`
        : `"${name}" is a block: write "${name} {" without an equals sign.`;
    this.#fail("Unsupported argument", detail, nameRange);
  }

  #nativeBlock(block: Block): void {
    const { source, type } = block;
    const labelNames = this.#labelsOf(type);
    const typeRange = sourceRange(source, block.start, block.typeEnd);
    if (labelNames === undefined) {
      if (this.#isIgnored(type)) return;
      const detail = this.#isAttribute(type)
        ? `"${type}" is an argument: write "${type} = ..." with an equals sign.`
        : `Blocks of type "${type}" are not expected here.${didYouMean(type, Object.keys(this.#schema.blocks ?? {}))}`;
      this.#fail("Unsupported block type", detail, typeRange);
      return;
    }
    const labels = block.labels.map((label) => ({ value: label.value, range: range(label) }));
    const missing = labelNames[labels.length];
    const extra = labels[labelNames.length];
    const needed =
      labelNames.length === 0
        ? "no labels"
        : `${labelNames.length} label(s): ${labelNames.join(", ")}`;
    if (missing !== undefined) {
      this.#fail(
        `Missing ${missing} for ${type}`,
        `A block of type "${type}" has ${needed}.`,
        typeRange,
      );
      return;
    }
    if (extra !== undefined) {
      this.#fail(
        `Extraneous label for ${type}`,
        `A block of type "${type}" has ${needed}.`,
        extra.range,
      );
      return;
    }
    const headerRange = sourceRange(source, block.start, block.headerEnd);
    this.#blocks.push({ type, labels, headerRange, body: block.body });
  }

  // ---- JSON ----

  json(body: JsonBody): BodyContent {
    for (const object of body.objects) {
      for (const member of object.members) this.#jsonMember(member);
    }
    return this.#result();
  }

  #jsonMember({ name, value }: JsonMember): void {
    const type = name.value;
    if (type === "//") return;
    if (this.#isAttribute(type)) {
      if (this.#attributes.has(type)) {
        const detail = `The argument "${type}" is set already. An argument can be set once.`;
        this.#fail("Duplicate argument", detail, range(name));
        return;
      }
      const { literals } = this.#schema;
      const literal = literals === true || literals?.includes(type) === true;
      const expression = jsonExpression(value, literal ? [] : this.#diagnostics);
      this.#attributes.set(type, { name: type, nameRange: range(name), expression });
      return;
    }
    const labelNames = this.#labelsOf(type);
    if (labelNames !== undefined) {
      this.#jsonBlocks(name, labelNames, [], value);
      return;
    }
    if (this.#isIgnored(type)) return;
    const known = [...(this.#schema.attributes ?? []), ...Object.keys(this.#schema.blocks ?? {})];
    const detail = `No argument or block type is named "${type}".${didYouMean(type, known)}`;
    this.#fail("Extraneous JSON object property", detail, range(name));
  }

  /** Blocks below a member: one level of objects, or of arrays of objects, for each label left. */
  #jsonBlocks(
    type: JsonStringNode,
    labelNames: readonly string[],
    labels: ContentBlock["labels"],
    value: JsonSyntaxNode,
  ): void {
    const [labelName, ...rest] = labelNames;
    if (labelName !== undefined) {
      const objects = this.#objects(value, `names for ${labelName}`);
      const members = objects?.flatMap((object) => object.members) ?? [];
      if (objects !== undefined && members.length === 0 && value.kind !== "null") {
        const detail = `At least one member is required, whose name is the ${labelName} of the block.`;
        this.#fail("Missing block label", detail, range(value));
      }
      for (const member of members) {
        if (member.name.value === "//") continue;
        const label = { value: member.name.value, range: range(member.name) };
        this.#jsonBlocks(type, rest, [...labels, label], member.value);
      }
      return;
    }
    const objects = this.#objects(value, `the content of "${type.value}" blocks`) ?? [];
    const header = labels.at(-1)?.range ?? range(type);
    for (const object of objects) {
      const body: JsonBody = { kind: "json-body", objects: [object], range: range(object) };
      this.#blocks.push({ type: type.value, labels, headerRange: header, body });
    }
  }

  /** An object, or those of an array; null is none. Undefined and reported for anything else. */
  #objects(value: JsonSyntaxNode, what: string): JsonObjectNode[] | undefined {
    if (value.kind === "object") return [value];
    if (value.kind === "null") return [];
    const elements = value.kind === "array" ? value.elements : [value];
    const objects = elements.filter((element) => element.kind === "object");
    const wrong = elements.find(
      (element) => element.kind !== "object" && element.kind !== "invalid",
    );
    if (wrong === undefined) return objects;
    const detail = `An object, or an array of objects, is required here for ${what}.`;
    this.#fail("Incorrect JSON value type", detail, range(wrong));
    return value.kind === "array" ? objects : undefined;
  }
}

/** The body of a JSON file, whose root is an object or an array of objects. */
export function jsonRootBody(root: JsonSyntaxNode, diagnostics: Diagnostic[]): JsonBody {
  const elements = root.kind === "array" ? root.elements : [root];
  const objects = elements.filter((element) => element.kind === "object");
  const wrong = elements.find((element) => element.kind !== "object" && element.kind !== "invalid");
  if (wrong !== undefined) {
    diagnostics.push({
      severity: "error",
      code: "LANG_JSON_ROOT",
      summary: "Root value must be object",
      detail: "A file of the language must hold a JSON object, or an array of them.",
      subject: range(wrong),
    });
  }
  return { kind: "json-body", objects, range: range(root) };
}
