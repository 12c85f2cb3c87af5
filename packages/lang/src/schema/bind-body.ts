import { append } from "@stackwright/base/append";
import type { Type } from "@stackwright/cty";
import {
  type BodyContent,
  bodyRange,
  type ConfigBody,
  type ContentBlock,
  readBody,
} from "../config/body-content.ts";
import { rangeOf } from "../config/static-reader.ts";
import type { Expression, ScopeTraversal } from "../syntax/ast.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import { expressionReferences } from "../syntax/references.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import { staticKeyword, staticList } from "../syntax/static.ts";
import { didYouMean } from "../syntax/suggestion.ts";
import {
  attributeAsBlock,
  conversionType,
  type SchemaAttribute,
  type SchemaBlock,
  type SchemaBlockType,
  schemaType,
} from "./block-schema.ts";
import { literalObjects, writtenAsBlock } from "./written-form.ts";

/** How a body is bound to a schema. */
export interface BindOptions {
  /**
   * Names at the top of the body that belong to the language and not to the schema, such as
   * `count`. A nested block `_` holds arguments of the schema that have such a name.
   */
  readonly meta?: ReadonlySet<string>;
}

/** Names in the body of a resource, data source or ephemeral resource that are the language's. */
export const RESOURCE_META: ReadonlySet<string> = new Set([
  "count",
  "for_each",
  "depends_on",
  "provider",
  "lifecycle",
  "connection",
  "provisioner",
]);

/** Names in the body of a provider configuration that are the language's. */
export const PROVIDER_META: ReadonlySet<string> = new Set(["alias", "version", "for_each"]);

/**
 * A body as its schema understands it, before anything is evaluated: done once, evaluated for every
 * instance by {@link evaluateBody}.
 */
export interface BoundBody {
  readonly schema: SchemaBlock;
  readonly type: Extract<Type, { kind: "object" }>;
  /** By name, those that are set. */
  readonly attributes: ReadonlyMap<string, BoundAttribute>;
  /** By type, in the order of the source; every block type of the schema has an entry. */
  readonly blocks: ReadonlyMap<string, BoundBlocks>;
  /** What stands for the body as a whole in messages. */
  readonly range: SourceRange;
}

export interface BoundAttribute {
  readonly name: string;
  readonly nameRange: SourceRange;
  readonly expression: Expression;
  readonly schema: SchemaAttribute;
  /** What its value is converted to. */
  readonly conversion: Type;
}

/** The blocks of one type. */
export interface BoundBlocks {
  readonly schema: SchemaBlockType;
  /** Object type of one block. */
  readonly type: Extract<Type, { kind: "object" }>;
  readonly blocks: readonly BoundBlock[];
  /** The attribute that the blocks give a value to, where the schema has one by their name. Without blocks it is not set. */
  readonly attribute: SchemaAttribute | undefined;
}

/** A block as written, or a `dynamic` one that stands for any number of them. */
export type BoundBlock =
  | {
      readonly kind: "static";
      readonly labels: ContentBlock["labels"];
      readonly range: SourceRange;
      readonly body: BoundBody;
    }
  | {
      readonly kind: "dynamic";
      readonly forEach: Expression;
      readonly iterator: string;
      readonly labels: readonly Expression[];
      readonly range: SourceRange;
      readonly body: BoundBody;
    };

/** A bound body, its references and its errors that are independent of values. */
export interface BindResult {
  readonly body: BoundBody;
  /** References to names outside of the body; iterators of `dynamic` blocks are none. */
  readonly references: readonly ScopeTraversal[];
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Reads a body by the schema of a provider: arguments, nested blocks, `dynamic` blocks, attributes
 * written as blocks, in both syntaxes. Arguments and blocks that are missing or not expected are
 * reported with what was probably meant. Nothing is evaluated.
 */
export function bindBody(
  body: ConfigBody,
  schema: SchemaBlock,
  options: BindOptions = {},
): BindResult {
  const binder = new Binder();
  const bound = binder.bind(body, schema, NONE, options.meta);
  if (schema.deprecated) binder.warnDeprecated(bound.range);
  return { body: bound, references: binder.references, diagnostics: binder.diagnostics };
}

const NONE: ReadonlySet<string> = new Set();
const DYNAMIC = {
  attributes: ["for_each", "iterator", "labels"],
  literals: ["iterator"],
  required: ["for_each"],
  blocks: { content: [] },
} as const;

class Binder {
  readonly diagnostics: Diagnostic[] = [];
  readonly references: ScopeTraversal[] = [];

  warnDeprecated(range: SourceRange): void {
    this.#warn("Block is deprecated", "The provider has declared this type deprecated.", range);
  }

  bind(
    given: ConfigBody,
    schema: SchemaBlock,
    iterators: ReadonlySet<string>,
    meta: ReadonlySet<string> = NONE,
  ): BoundBody {
    const range = bodyRange(given);
    const asBlocks = new Map<string, SchemaBlockType>();
    for (const [name, attribute] of schema.attributes) {
      const block = meta.has(name) ? undefined : attributeAsBlock(attribute);
      if (block !== undefined && writtenAsBlock(given, name)) asBlocks.set(name, block);
    }
    const types = new Map([...schema.blocks, ...asBlocks]);
    const content = this.#read(given, schema, types, meta);
    const attributes = this.#attributes(content, schema, iterators);
    for (const [name, { required }] of schema.attributes) {
      if (!required || attributes.has(name) || asBlocks.has(name)) continue;
      this.#fail(
        "Missing required argument",
        `The argument "${name}" is required, but it is not set.`,
        range,
      );
    }
    const found = new Map<string, BoundBlock[]>([...types.keys()].map((name) => [name, []]));
    for (const block of content.blocks) this.#block(block, types, iterators, found);
    const blocks = new Map<string, BoundBlocks>();
    for (const [name, type] of types) {
      blocks.set(name, {
        schema: type,
        type: schemaType(type.block),
        blocks: found.get(name) ?? [],
        attribute: asBlocks.has(name) ? schema.attributes.get(name) : undefined,
      });
    }
    return { schema, type: schemaType(schema), attributes, blocks, range };
  }

  #fail(summary: string, detail: string, subject: SourceRange): void {
    this.diagnostics.push({ severity: "error", code: "LANG_BODY", summary, detail, subject });
  }

  #warn(summary: string, detail: string, subject: SourceRange): void {
    this.diagnostics.push({ severity: "warning", code: "LANG_BODY", summary, detail, subject });
  }

  /** What the schema knows in the body; for a body with names of the language also in its `_`. */
  #read(
    given: ConfigBody,
    schema: SchemaBlock,
    types: ReadonlyMap<string, SchemaBlockType>,
    meta: ReadonlySet<string>,
  ): BodyContent {
    const attributes = [...schema.attributes.keys()].filter((name) => !types.has(name));
    const blocks: Record<string, readonly string[]> = {};
    if (types.size > 0) blocks.dynamic = ["type"];
    for (const [name, { nesting }] of types) blocks[name] = nesting === "map" ? ["key"] : [];
    if (meta.size === 0) return readBody(given, { attributes, blocks }, this.diagnostics);
    const own = Object.fromEntries(Object.entries(blocks).filter(([name]) => !meta.has(name)));
    const outer = readBody(
      given,
      { attributes: attributes.filter((name) => !meta.has(name)), blocks: { ...own, _: [] } },
      this.diagnostics,
      { ignore: meta },
    );
    const escaped = outer.blocks.filter(({ type }) => type === "_");
    if (escaped.length === 0) return outer;
    const merged = { attributes: new Map(outer.attributes), blocks: [...outer.blocks] };
    for (const { body } of escaped) {
      const inner = readBody(body, { attributes, blocks }, this.diagnostics);
      for (const [name, attribute] of inner.attributes) {
        if (merged.attributes.has(name)) {
          const detail = `The argument "${name}" is set already. An argument can be set once.`;
          this.#fail("Duplicate argument", detail, attribute.nameRange);
        }
        merged.attributes.set(name, attribute);
      }
      append(merged.blocks, inner.blocks);
    }
    return { ...merged, blocks: merged.blocks.filter(({ type }) => type !== "_") };
  }

  #attributes(
    content: BodyContent,
    schema: SchemaBlock,
    iterators: ReadonlySet<string>,
  ): Map<string, BoundAttribute> {
    const attributes = new Map<string, BoundAttribute>();
    for (const [name, { nameRange, expression }] of content.attributes) {
      const own = schema.attributes.get(name);
      if (own === undefined) continue;
      this.#refer(expression, iterators);
      this.#checkNested(own, expression);
      if (own.deprecated) {
        const detail = `The provider has declared the argument "${name}" deprecated.`;
        this.#warn("Argument is deprecated", detail, nameRange);
      }
      const conversion = conversionType(own);
      attributes.set(name, { name, nameRange, expression, schema: own, conversion });
    }
    return attributes;
  }

  #refer(expression: Expression, iterators: ReadonlySet<string>): void {
    for (const reference of expressionReferences(expression)) {
      if (!iterators.has(reference.root)) this.references.push(reference);
    }
  }

  /**
   * Names in object literals that the schema of a nested attribute does not have. Conversion drops
   * them, as the reference does; that is hardly ever meant.
   */
  #checkNested({ nested }: SchemaAttribute, expression: Expression): void {
    if (nested === undefined) return;
    const objects = literalObjects(expression, nested.nesting);
    for (const { items } of objects) {
      for (const { key, value } of items) {
        const name =
          key.literal ?? (key.expression.kind === "string" ? key.expression.value : undefined);
        if (name === undefined) continue;
        const attribute = nested.attributes.get(name);
        if (attribute === undefined) {
          const detail = `There is no attribute "${name}" here, so that this has no effect.${didYouMean(name, nested.attributes.keys())}`;
          this.#warn("Object attribute has no effect", detail, rangeOf(key));
        } else {
          this.#checkNested(attribute, value);
        }
      }
    }
  }

  #block(
    block: ContentBlock,
    types: ReadonlyMap<string, SchemaBlockType>,
    iterators: ReadonlySet<string>,
    found: Map<string, BoundBlock[]>,
  ): void {
    const { labels, headerRange: range } = block;
    if (block.type === "dynamic" && !types.has("dynamic")) {
      this.#dynamic(block, types, iterators, found);
      return;
    }
    const type = types.get(block.type);
    if (type === undefined) return;
    this.#checkDeprecated(block.type, type, range);
    const body = this.bind(block.body, type.block, iterators);
    found.get(block.type)?.push({ kind: "static", labels, range, body });
  }

  #checkDeprecated(name: string, { block }: SchemaBlockType, range: SourceRange): void {
    if (!block.deprecated) return;
    const detail = `The provider has declared blocks of type "${name}" deprecated.`;
    this.#warn("Block type is deprecated", detail, range);
  }

  #dynamic(
    block: ContentBlock,
    types: ReadonlyMap<string, SchemaBlockType>,
    iterators: ReadonlySet<string>,
    found: Map<string, BoundBlock[]>,
  ): void {
    const { headerRange: range } = block;
    const [label] = block.labels;
    const name = label?.value ?? "";
    const type = types.get(name);
    if (type === undefined) {
      const detail = `Blocks of type "${name}" are not expected here.${didYouMean(name, types.keys())}`;
      this.#fail("Unsupported block type", detail, label?.range ?? range);
      return;
    }
    const { attributes, blocks } = readBody(block.body, DYNAMIC, this.diagnostics);
    const forEach = attributes.get("for_each")?.expression;
    const [content, second] = blocks;
    if (content === undefined) {
      const detail = 'A dynamic block has a nested block "content": what each of its blocks holds.';
      this.#fail("Missing dynamic content block", detail, range);
    }
    if (second !== undefined) {
      const detail = 'A dynamic block has one nested block "content".';
      this.#fail("Extraneous dynamic content block", detail, second.headerRange);
    }
    const iterator = this.#iterator(attributes.get("iterator")?.expression, name);
    const labels = this.#labels(attributes.get("labels"), type, range);
    if (forEach === undefined || content === undefined || labels === undefined) return;
    this.#refer(forEach, iterators);
    const inner = new Set(iterators).add(iterator);
    for (const expression of labels) this.#refer(expression, inner);
    this.#checkDeprecated(name, type, range);
    const body = this.bind(content.body, type.block, inner);
    found.get(name)?.push({ kind: "dynamic", forEach, iterator, labels, range, body });
  }

  #iterator(expression: Expression | undefined, name: string): string {
    if (expression === undefined) return name;
    const word = staticKeyword(expression);
    if (word === undefined) {
      const detail = "The iterator is a name, written without quotes.";
      this.#fail("Invalid dynamic iterator name", detail, rangeOf(expression));
    }
    return word ?? name;
  }

  /** The expressions of labels, one for blocks of maps and none for others. */
  #labels(
    attribute: { readonly expression: Expression; readonly nameRange: SourceRange } | undefined,
    { nesting }: SchemaBlockType,
    range: SourceRange,
  ): readonly Expression[] | undefined {
    if (nesting !== "map") {
      if (attribute === undefined) return [];
      const detail = "Blocks of this type have no labels: remove the argument.";
      this.#fail("Extraneous dynamic block label", detail, attribute.nameRange);
      return undefined;
    }
    const result = attribute === undefined ? { value: [] } : staticList(attribute.expression);
    append(this.diagnostics, result.diagnostics ?? []);
    if (result.value === undefined) return undefined;
    if (result.value.length === 1) return result.value;
    const detail = 'Blocks of this type have one label: write labels = ["..."].';
    this.#fail("Insufficient dynamic block labels", detail, attribute?.nameRange ?? range);
    return undefined;
  }
}
