import { Value } from "@stackwright/cty";
import type {
  AttributeSchema,
  BlockSchema,
  NestedAttributeSchema,
  NestedBlockSchema,
} from "./schema.ts";
import { typeOfBlock } from "./type-of-block.ts";

/**
 * The object that a provider is asked to plan: the configuration, with what the provider decided before where the
 * configuration leaves the decision to it.
 *
 * - An attribute takes the configured value, null included. A computed one that is not configured keeps its prior
 *   value; with nested attributes the rule holds for each of them.
 * - Blocks and nested objects are paired with their predecessors: lists by position, maps by key, sets by the
 *   first unused element that agrees in everything the provider does not compute.
 * - Without a prior object everything that is not configured is null, and computed attributes with it.
 *
 * Both values have the type that the block implies. Null for both gives null. Source: the provider protocol of
 * Terraform, PlanResourceChange.
 */
export function proposeState(block: BlockSchema, prior: Value, config: Value): Value {
  if (config.isNull && prior.isNull) return prior;
  if (config.isNull) return config;
  return proposeBlock(block, prior.isNull ? emptyObject(block) : prior, config);
}

/** An object in which nothing is set: null attributes, empty collections of blocks. */
export function emptyObject(block: BlockSchema): Value {
  const attributes = [...block.attributes].map(
    ([name, { type }]) => [name, Value.null(type)] as const,
  );
  const blocks = [...block.blocks].map(([name, nested]) => [name, withoutBlocks(nested)] as const);
  return Value.object([...attributes, ...blocks]);
}

function withoutBlocks({ nesting, block }: NestedBlockSchema): Value {
  const type = typeOfBlock(block);
  switch (nesting) {
    case "single":
      return Value.null(type);
    case "group":
      return emptyObject(block);
    case "list":
      return type.hasDynamic ? Value.emptyTuple : Value.list([], type);
    case "set":
      return Value.set([], type);
    case "map":
      return type.hasDynamic ? Value.emptyObject : Value.map([], type);
    default:
      return nesting satisfies never;
  }
}

function proposeBlock(block: BlockSchema, prior: Value, config: Value): Value {
  if (!config.isKnown || config.isNull) return config;
  const before = membersOf(prior);
  const members: [string, Value][] = [];
  for (const [name, configured] of config.entries()) {
    const old = before.get(name) ?? Value.null(configured.type);
    const attribute = block.attributes.get(name);
    const nested = block.blocks.get(name);
    if (attribute !== undefined) members.push([name, proposeAttribute(attribute, old, configured)]);
    else if (nested !== undefined)
      members.push([name, proposeNestedBlock(nested, old, configured)]);
    else members.push([name, configured]);
  }
  return Value.object(members);
}

function proposeAttribute(attribute: AttributeSchema, prior: Value, config: Value): Value {
  const { computed, nested } = attribute;
  if (computed && config.isNull) {
    // What was configured before and is not any more is taken back, not kept as if it were the provider's.
    if (nested !== undefined && attribute.optional && wasConfigured(nested, prior)) return config;
    return prior;
  }
  return nested === undefined ? config : proposeNestedAttribute(nested, prior, config);
}

/** Whether an object has parts that only a configuration can have put there. */
function wasConfigured({ nesting, attributes }: NestedAttributeSchema, prior: Value): boolean {
  if (prior.isNull || !prior.isKnown) return false;
  const objects = nesting === "single" ? [prior] : prior.elements();
  return objects.some((object) =>
    [...membersOf(object)].some(([name, value]) => {
      const attribute = attributes.get(name);
      return attribute !== undefined && !attribute.computed && !value.isNull;
    }),
  );
}

function proposeNestedAttribute(schema: NestedAttributeSchema, prior: Value, config: Value): Value {
  const block: BlockSchema = {
    attributes: schema.attributes,
    blocks: new Map(),
    deprecated: false,
    description: "",
  };
  return proposeNested(schema.nesting, block, prior, config);
}

function proposeNestedBlock(
  { nesting, block }: NestedBlockSchema,
  prior: Value,
  config: Value,
): Value {
  return proposeNested(nesting, block, prior, config);
}

function proposeNested(
  nesting: NestedBlockSchema["nesting"],
  block: BlockSchema,
  prior: Value,
  config: Value,
): Value {
  if (!config.isKnown || config.isNull) return config;
  const empty = () => emptyObject(block);
  const known = !prior.isNull && prior.isKnown;
  switch (nesting) {
    case "single":
    case "group":
      return proposeBlock(block, known ? prior : empty(), config);
    case "list": {
      const before = known ? prior.elements() : [];
      const elements = config
        .elements()
        .map((element, index) => proposeBlock(block, present(before[index]) ?? empty(), element));
      return config.type.kind === "tuple" || elements.length === 0
        ? rebuildSequence(config, elements)
        : Value.list(elements);
    }
    case "map": {
      const before = known ? membersOf(prior) : new Map<string, Value>();
      const entries = [...config.entries()].map(
        ([key, element]) =>
          [key, proposeBlock(block, present(before.get(key)) ?? empty(), element)] as const,
      );
      if (entries.length === 0) return config;
      return config.type.kind === "object" ? Value.object(entries) : Value.map(entries);
    }
    case "set": {
      const unused = known ? prior.elements() : [];
      const elements = config.elements().map((element) => {
        const match = unused.findIndex((old) => couldBeSame(block, old, element));
        const [old] = match === -1 ? [] : unused.splice(match, 1);
        return proposeBlock(block, old ?? empty(), element);
      });
      return elements.length === 0 ? config : Value.set(elements);
    }
    default:
      return nesting satisfies never;
  }
}

function present(value: Value | undefined): Value | undefined {
  return value === undefined || value.isNull || !value.isKnown ? undefined : value;
}

function rebuildSequence(config: Value, elements: readonly Value[]): Value {
  return elements.length === 0 ? config : Value.tuple(elements);
}

/** Whether an element of a set may be what a configured one was before: equal in all that is not computed. */
function couldBeSame(block: BlockSchema, old: Value, config: Value): boolean {
  if (old.isNull || !old.isKnown || config.isNull || !config.isKnown) return false;
  const configured = membersOf(config);
  return [...membersOf(old)].every(([name, value]) => {
    const wanted = configured.get(name);
    if (wanted === undefined) return false;
    const attribute = block.attributes.get(name);
    if (attribute?.computed === true && wanted.isNull) return true;
    const nested = block.blocks.get(name);
    if (nested === undefined) return value.rawEquals(wanted);
    return couldBeSameNested(nested, value, wanted);
  });
}

function couldBeSameNested(
  { nesting, block }: NestedBlockSchema,
  old: Value,
  config: Value,
): boolean {
  if (nesting === "single" || nesting === "group") {
    return old.isNull || config.isNull
      ? old.isNull === config.isNull
      : couldBeSame(block, old, config);
  }
  if (!old.isKnown || !config.isKnown || old.isNull || config.isNull) return old.rawEquals(config);
  const [before, after] = [old.elements(), config.elements()];
  if (before.length !== after.length) return false;
  if (nesting === "set") {
    const unused = [...before];
    return after.every((element) => {
      const match = unused.findIndex((candidate) => couldBeSame(block, candidate, element));
      if (match !== -1) unused.splice(match, 1);
      return match !== -1;
    });
  }
  return before.every((element, index) => {
    const other = after[index];
    return other !== undefined && couldBeSame(block, element, other);
  });
}

function membersOf(value: Value): Map<string, Value> {
  const { kind } = value.type;
  return value.isKnown && !value.isNull && (kind === "object" || kind === "map")
    ? new Map(value.entries())
    : new Map();
}
