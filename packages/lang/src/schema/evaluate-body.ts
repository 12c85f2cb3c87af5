import { append } from "@stackwright/base/append";
import {
  CtyError,
  convert,
  deepMarks,
  Mark,
  Marks,
  type Path,
  Type,
  typeName,
  unify,
  Value,
} from "@stackwright/cty";
import { rangeOf } from "../config/static-reader.ts";
import { conversionMessage } from "../eval/conversion-message.ts";
import { evaluate } from "../eval/evaluate.ts";
import { iterate } from "../eval/iterate.ts";
import { observed } from "../eval/observe.ts";
import type { EvaluationScope } from "../eval/scope.ts";
import type { Expression } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors } from "../syntax/diagnostic.ts";
import { type AttributeLocation, locatePath } from "./attribute-location.ts";
import type { BoundAttribute, BoundBlock, BoundBlocks, BoundBody } from "./bind-body.ts";
import type { SchemaBlock, SchemaBlockType } from "./block-schema.ts";
import { schemaType } from "./block-schema.ts";
import { IteratorScope } from "./iterator-scope.ts";
import type { LocatedBlock, LocatedBody } from "./located-body.ts";

/** How a body is evaluated. */
export interface EvaluateBodyOptions {
  /**
   * Where ephemeral values may stand: everywhere, as in configurations of providers and ephemeral
   * resources, or only in write-only arguments, because everything else is stored.
   * @default "write-only"
   */
  readonly ephemeral?: "everywhere" | "write-only";
}

/** A body as a value. */
export interface EvaluatedBody {
  /** Of the object type of the schema. Marks are where they were; unknown where mistakes are. */
  readonly value: Value;
  readonly diagnostics: readonly Diagnostic[];
  /** Where the configuration says what stands at a path of the value, as exactly as can be said. */
  locate(path: Path): AttributeLocation;
}

/**
 * Evaluates a bound body in the scope of one instance. Attributes that are not set are null; a
 * `dynamic` block whose for_each is not known yet makes all blocks of its type one unknown value;
 * marks of a for_each go to all of them, because they show in the number of blocks.
 */
export function evaluateBody(
  body: BoundBody,
  scope: EvaluationScope,
  options: EvaluateBodyOptions = {},
): EvaluatedBody {
  const evaluator = new BodyEvaluator(options.ephemeral ?? "write-only");
  const { value, placed } = evaluator.body(body, scope);
  return { value, diagnostics: evaluator.diagnostics, locate: (path) => locatePath(placed, path) };
}

/** One block after expansion. */
interface Expanded extends LocatedBlock {
  readonly value: Value;
}

/** All blocks of one type after expansion. */
interface Expansion {
  readonly blocks: Expanded[];
  marks: Marks;
  /** How many there are is not known. */
  unknown: boolean;
}

class BodyEvaluator {
  readonly diagnostics: Diagnostic[] = [];
  readonly #ephemeral: "everywhere" | "write-only";

  constructor(ephemeral: "everywhere" | "write-only") {
    this.#ephemeral = ephemeral;
  }

  body(bound: BoundBody, scope: EvaluationScope): { value: Value; placed: LocatedBody } {
    const blocks = new Map<string, readonly LocatedBlock[]>();
    const values = bound.type.names.map((name) => {
      const nested = bound.blocks.get(name);
      if (nested !== undefined) return this.#blocks(name, nested, scope, bound, blocks);
      const attribute = bound.attributes.get(name);
      return attribute === undefined
        ? Value.null(bound.type.attribute(name) ?? Type.dynamic)
        : this.#attribute(attribute, scope);
    });
    const value = bound.type.hasDynamic
      ? Value.object(values.map((part, at) => [bound.type.names[at] ?? "", part] as const))
      : Value.objectOf(bound.type, values);
    return { value, placed: { bound, blocks } };
  }

  #report(
    severity: Diagnostic["severity"],
    summary: string,
    detail: string,
    place: Pick<Diagnostic, "subject" | "context" | "values">,
  ): void {
    this.diagnostics.push({ severity, code: "LANG_BODY", summary, detail, ...place });
  }

  #attribute(attribute: BoundAttribute, scope: EvaluationScope): Value {
    const { name, expression, schema, conversion } = attribute;
    const { value, diagnostics } = evaluate(expression, scope);
    append(this.diagnostics, diagnostics);
    const subject = rangeOf(expression);
    if (hasErrors(diagnostics)) return Value.unknown(schema.type).withMarks(value.marks);
    let converted: Value;
    try {
      converted = convert(value, conversion);
      // What a nested object implies and what the schema says may differ in their optional parts.
      if (!schema.type.hasDynamic) converted = convert(converted, schema.type);
    } catch (error) {
      const detail = `The value does not fit the argument "${name}": ${conversionMessage(error)}.`;
      const place = { subject, ...observed(expression, scope) };
      this.#report("error", "Incorrect attribute value type", detail, place);
      return Value.unknown(schema.type);
    }
    const { required, optional, computed, writeOnly } = schema;
    if (converted.isNull && required) {
      const detail = `The argument "${name}" is required, so that its value cannot be null.`;
      const place = { subject, ...observed(expression, scope) };
      this.#report("error", "Missing required argument", detail, place);
    }
    if (!converted.isNull && computed && !optional && !required) {
      const detail = `The value of "${name}" is decided by the provider and cannot be set.`;
      this.#report("error", "Value for unconfigurable attribute", detail, {
        subject: attribute.nameRange,
      });
    }
    if (!writeOnly) this.#checkEphemeral(converted, attribute, scope);
    return converted;
  }

  #checkEphemeral(
    value: Value,
    { name, expression, schema }: BoundAttribute,
    scope: EvaluationScope,
  ): void {
    if (this.#ephemeral === "everywhere" || !value.containsMarks) return;
    // Parts of nested attributes may be write-only though the whole is not.
    if (schema.nested !== undefined && hasWriteOnly(schema.nested.attributes)) return;
    if (!deepMarks(value).has(Mark.ephemeral)) return;
    const detail = `The value of "${name}" is stored, and an ephemeral value must not be. Ephemeral values can be given to write-only arguments only.`;
    const place = { subject: rangeOf(expression), ...observed(expression, scope) };
    this.#report("error", "Invalid use of ephemeral value", detail, place);
  }

  #blocks(
    name: string,
    bound: BoundBlocks,
    scope: EvaluationScope,
    parent: BoundBody,
    places: Map<string, readonly LocatedBlock[]>,
  ): Value {
    const found: Expansion = { blocks: [], marks: Marks.none, unknown: false };
    for (const block of bound.blocks) this.#expand(name, block, bound, scope, found);
    if (found.blocks.length > 0) places.set(name, found.blocks);
    this.#checkNumber(name, bound.schema, found, parent);
    if (found.marks.has(Mark.ephemeral) && this.#ephemeral === "write-only") {
      const subject = bound.blocks[0]?.range;
      const detail = `Blocks of type "${name}" are stored, and an ephemeral value must not decide how many there are.`;
      this.#report("error", "Invalid use of ephemeral value", detail, {
        ...(subject && { subject }),
      });
    }
    const { attribute } = bound;
    if (attribute === undefined || found.unknown || found.blocks.length > 0)
      return collect(bound, found).withMarks(found.marks);
    if (attribute.required) {
      const detail = `The argument "${name}" is required, but its dynamic blocks generated no blocks.`;
      this.#report("error", "Missing required argument", detail, { subject: parent.range });
    }
    return Value.null(attribute.type).withMarks(found.marks);
  }

  #checkNumber(
    name: string,
    { nesting, minItems, maxItems }: SchemaBlockType,
    { blocks, unknown }: Expansion,
    { range }: BoundBody,
  ): void {
    const one = nesting === "single" || nesting === "group";
    const most = one ? 1 : maxItems;
    const extra = most > 0 ? blocks[most] : undefined;
    if (extra !== undefined && !unknown) {
      const detail = one
        ? `Only one block of type "${name}" is allowed.`
        : `At most ${most} blocks of type "${name}" are allowed.`;
      const summary = one ? `Duplicate ${name} block` : `Too many ${name} blocks`;
      this.#report("error", summary, detail, { subject: extra.range });
    }
    if (blocks.length >= minItems || unknown || nesting === "map") return;
    const detail = one
      ? `A block of type "${name}" is required here.`
      : `At least ${minItems} blocks of type "${name}" are required here.`;
    this.#report("error", one ? `Missing ${name} block` : `Insufficient ${name} blocks`, detail, {
      subject: range,
    });
  }

  #expand(
    name: string,
    block: BoundBlock,
    { schema }: BoundBlocks,
    scope: EvaluationScope,
    found: Expansion,
  ): void {
    if (block.kind === "static") {
      const { value, placed } = this.body(block.body, scope);
      const label = block.labels[0]?.value;
      const place = { placed, range: block.range, element: undefined };
      this.#add(found, { ...place, value, key: label }, schema);
      return;
    }
    const elements = this.#elements(block, scope, found);
    for (const [key, value] of elements ?? []) {
      const inner = new IteratorScope(scope, block.iterator, key, value);
      const evaluated = this.body(block.body, inner);
      const label = block.labels[0];
      const place = {
        placed: evaluated.placed,
        range: block.range,
        element: `${name}[${elementName(key)}]`,
      };
      const text = label === undefined ? undefined : this.#label(label, inner, found);
      if (label !== undefined && text === undefined) continue;
      this.#add(found, { ...place, value: evaluated.value, key: text }, schema);
    }
  }

  #add(found: Expansion, block: Expanded, { nesting }: SchemaBlockType): void {
    if (nesting === "map" && found.blocks.some(({ key }) => key === block.key)) {
      const detail = `There is a block with the label ${JSON.stringify(block.key)} already. Labels must be unique here.`;
      this.#report("error", "Duplicate block label", detail, { subject: block.range });
      return;
    }
    found.blocks.push(block);
  }

  /** Keys and elements that a dynamic block is repeated for; undefined after a mistake. */
  #elements(
    { forEach }: Extract<BoundBlock, { kind: "dynamic" }>,
    scope: EvaluationScope,
    found: Expansion,
  ): Iterable<readonly [key: Value, value: Value]> | undefined {
    const { value, diagnostics } = evaluate(forEach, scope);
    append(this.diagnostics, diagnostics);
    const [plain, marks] = value.unmark();
    found.marks = found.marks.union(marks);
    const { type } = plain;
    const wrong = (detail: string): undefined => {
      const place = { subject: rangeOf(forEach), ...observed(forEach, scope) };
      this.#report("error", "Invalid dynamic for_each value", detail, place);
      found.unknown = true;
    };
    if (hasErrors(diagnostics)) {
      found.unknown = true;
      return undefined;
    }
    if (plain.isNull)
      return wrong("The blocks cannot be made from null. Use an empty list instead.");
    if (!plain.isKnown) {
      const collection = type.kind === "list" || type.kind === "set" || type.kind === "map";
      if (!collection && !["dynamic", "tuple", "object"].includes(type.kind)) {
        return wrong(`A list, set, map, tuple or object is required, not ${typeName(type)}.`);
      }
      found.unknown = true;
      const element = collection ? Value.unknown(type.element) : Value.dynamic;
      const key = type.kind === "list" ? Value.unknown(Type.number) : Value.unknown(Type.string);
      return [[type.kind === "set" || !collection ? element : key, element]];
    }
    if (!["list", "set", "map", "tuple", "object"].includes(type.kind)) {
      return wrong(`A list, set, map, tuple or object is required, not ${typeName(type)}.`);
    }
    return iterate(plain);
  }

  #label(expression: Expression, scope: EvaluationScope, found: Expansion): string | undefined {
    const { value, diagnostics } = evaluate(expression, scope);
    append(this.diagnostics, diagnostics);
    const wrong = (detail: string): undefined => {
      const place = { subject: rangeOf(expression), ...observed(expression, scope) };
      this.#report("error", "Invalid dynamic block label", detail, place);
    };
    if (hasErrors(diagnostics)) return undefined;
    const [plain, marks] = value.unmark();
    found.marks = found.marks.union(marks);
    if (!plain.isKnown) {
      // With an unknown for_each the label may well depend on the element.
      if (found.unknown) return undefined;
      return wrong("The label of a block must be known before anything is applied.");
    }
    if (plain.isNull) return wrong("The label of a block cannot be null.");
    try {
      return convert(plain, Type.string).asString();
    } catch (error) {
      if (!(error instanceof CtyError)) throw error;
      return wrong(`The label of a block is a string: ${error.message}.`);
    }
  }
}

function hasWriteOnly(attributes: SchemaBlock["attributes"]): boolean {
  return [...attributes.values()].some(
    ({ writeOnly, nested }) =>
      writeOnly || (nested !== undefined && hasWriteOnly(nested.attributes)),
  );
}

/** The key of an element, for display. Those of sets of objects are not shown. */
function elementName(marked: Value): string {
  const [key] = marked.unmark();
  if (!key.isKnown || key.isNull) return "*";
  if (key.type.kind === "string") return JSON.stringify(key.asString());
  if (key.type.kind === "number") return key.asBigFloat().toString();
  return "...";
}

/** The value of all blocks of a type. */
function collect({ schema, type }: BoundBlocks, { blocks, unknown }: Expansion): Value {
  const values = blocks.map(({ value }) => value);
  switch (schema.nesting) {
    case "single":
      return unknown ? Value.unknown(type) : (values[0] ?? Value.null(type));
    case "group":
      return unknown ? Value.unknown(type) : (values[0] ?? emptyBlock(schema.block));
    case "list":
      if (type.hasDynamic) return unknown ? Value.dynamic : Value.tuple(values);
      return unknown ? Value.unknown(Type.list(type)) : Value.list(values, type);
    case "set":
      if (unknown) return Value.unknown(Type.set(type));
      return type.hasDynamic ? openSet(values, type) : Value.set(values, type);
    case "map": {
      const entries = blocks.map(({ key, value }) => [key ?? "", value] as const);
      if (type.hasDynamic) return unknown ? Value.dynamic : Value.object(entries);
      return unknown ? Value.unknown(Type.map(type)) : Value.map(entries, type);
    }
    default:
      return schema.nesting satisfies never;
  }
}

/** A set of blocks with attributes of any type, brought to one type where there is one. */
function openSet(values: readonly Value[], type: Type): Value {
  if (values.length === 0) return Value.set([], type);
  const unified = unify(values.map((value) => value.type));
  if (unified === undefined) return Value.unknown(Type.set(type));
  return Value.set(values.map((value, at) => unified.conversions[at]?.(value) ?? value));
}

/** The value of an empty block, which also stands for an omitted group block. */
export function emptyBlock(schema: SchemaBlock): Value {
  const attributes = [...schema.attributes].map(
    ([name, { type }]) => [name, Value.null(type)] as const,
  );
  const blocks = [...schema.blocks].map(([name, nested]) => {
    const type = schemaType(nested.block);
    const bound = { schema: nested, type, blocks: [], attribute: undefined };
    return [name, collect(bound, { blocks: [], marks: Marks.none, unknown: false })] as const;
  });
  return Value.object([...attributes, ...blocks]);
}
