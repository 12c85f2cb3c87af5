import { Type, Value } from "@stackwright/cty";
import {
  type AttributeSchema,
  type BlockSchema,
  type NestedBlockSchema,
  type Nesting,
  typeOfBlock,
  typeOfNestedAttributes,
} from "@stackwright/mux/router";
import fc from "fast-check";

/* Random schemas, and random objects that fit them, for property tests. */

const PRIMITIVES = [Type.string, Type.number, Type.bool] as const;

/** Types of attributes, without `dynamic` inside. */
function anyType(depth = 2): fc.Arbitrary<Type> {
  const primitive = fc.constantFrom<Type>(...PRIMITIVES);
  if (depth === 0) return primitive;
  const inner = anyType(depth - 1);
  const names = fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 3 });
  return fc.oneof(
    { weight: 4, arbitrary: primitive },
    inner.map((type) => Type.list(type)),
    inner.map((type) => Type.set(type)),
    inner.map((type) => Type.map(type)),
    fc.array(inner, { maxLength: 2 }).map((types) => Type.tuple(types)),
    names.chain((keys) =>
      fc
        .tuple(...keys.map(() => inner))
        .map((types) => Type.object(keys.map((key, i) => [key, types[i] ?? Type.string] as const))),
    ),
  );
}

interface ValueOptions {
  readonly nulls?: boolean;
  readonly unknowns?: boolean;
}

/** Values of a type; null and unknown parts where asked for. */
export function valueOf(type: Type, options: ValueOptions = {}): fc.Arbitrary<Value> {
  const special = [
    ...(options.nulls === true ? [fc.constant(Value.null(type))] : []),
    ...(options.unknowns === true ? [fc.constant(Value.unknown(type))] : []),
  ].map((arbitrary) => ({ weight: 1, arbitrary }));
  return fc.oneof(...special, { weight: 5, arbitrary: contentOf(type, options) });
}

function contentOf(type: Type, options: ValueOptions): fc.Arbitrary<Value> {
  switch (type.kind) {
    case "string":
      return fc.constantFrom("", "a", "b", "é", "x y").map((text) => Value.string(text));
    case "number":
      return fc
        .constantFrom("0", "1", "-2.5", "0.1", "12345678901234567890123")
        .map((text) => Value.parseNumber(text));
    case "bool":
      return fc.boolean().map((truth) => Value.bool(truth));
    case "dynamic":
      return anyType(1).chain((inner) => valueOf(inner, options));
    case "list":
      return elements(type.element, options).map((values) => Value.list(values, type.element));
    case "set":
      return elements(type.element, options).map((values) => Value.set(values, type.element));
    case "map":
      return fc
        .dictionary(fc.constantFrom("k", "l", "m"), valueOf(type.element, options), { maxKeys: 3 })
        .map((entries) => Value.map(Object.entries(entries), type.element));
    case "tuple":
      return fc
        .tuple(...type.elements.map((element) => valueOf(element, options)))
        .map((values) => Value.tuple(values));
    case "object":
      return fc
        .tuple(...type.types.map((attribute) => valueOf(attribute, options)))
        .map((values) => Value.objectOf(type, values));
    case "capsule":
      throw new TypeError("capsules are not sent to providers");
    default:
      return type satisfies never;
  }
}

function elements(type: Type, options: ValueOptions): fc.Arbitrary<Value[]> {
  return fc.array(valueOf(type, options), { maxLength: 3 });
}

const USES = ["required", "optional", "computed", "optional computed", "write-only"] as const;

/** Attributes, of which some are objects with attributes of their own. */
function anyAttribute(depth = 1): fc.Arbitrary<AttributeSchema> {
  const flags = fc.constantFrom(...USES).map((use) => ({
    required: use === "required",
    optional: use === "optional" || use === "optional computed" || use === "write-only",
    computed: use === "computed" || use === "optional computed",
    writeOnly: use === "write-only",
    sensitive: false,
    deprecated: false,
    description: "",
  }));
  const plain = fc.record({ type: anyType(), rest: flags }).map(({ type, rest }) => ({
    type,
    ...rest,
  }));
  if (depth === 0) return plain;
  const nested = fc
    .record({
      nesting: fc.constantFrom("single" as const, "list" as const, "set" as const, "map" as const),
      attributes: attributesOf(depth - 1),
      rest: flags,
    })
    .map(({ nesting, attributes, rest }) => ({
      type: typeOfNestedAttributes(nesting, attributes),
      nested: { nesting, attributes },
      ...rest,
    }));
  return fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: nested });
}

function attributesOf(depth: number): fc.Arbitrary<ReadonlyMap<string, AttributeSchema>> {
  return fc
    .array(anyAttribute(depth), { minLength: 1, maxLength: 4 })
    .map((attributes) => new Map(attributes.map((attribute, i) => [`attribute_${i}`, attribute])));
}

const NESTINGS: readonly Nesting[] = ["single", "group", "list", "set", "map"];

/** Blocks with attributes of all kinds and nested blocks of all kinds. */
export function anyBlock(depth = 2): fc.Arbitrary<BlockSchema> {
  const blocks: fc.Arbitrary<ReadonlyMap<string, NestedBlockSchema>> =
    depth === 0
      ? fc.constant(new Map())
      : fc
          .array(
            fc.record({
              nesting: fc.constantFrom(...NESTINGS),
              block: anyBlock(depth - 1),
              minItems: fc.constant(0),
              maxItems: fc.constant(0),
            }),
            { maxLength: 2 },
          )
          .map((all) => new Map(all.map((nested, i) => [`block_${i}`, nested])));
  return fc.record({
    attributes: attributesOf(1),
    blocks,
    deprecated: fc.constant(false),
    description: fc.constant(""),
  });
}

/**
 * Objects of a block. Blocks are never null or unknown themselves, except single ones, which may be null.
 *
 * @param attribute values of one attribute
 */
export function objectOf(
  block: BlockSchema,
  attribute: (schema: AttributeSchema) => fc.Arbitrary<Value>,
): fc.Arbitrary<Value> {
  const attributes = [...block.attributes].map(([name, schema]) =>
    attribute(schema).map((value) => [name, value] as const),
  );
  const blocks = [...block.blocks].map(([name, nested]) =>
    blocksOf(nested, attribute).map((value) => [name, value] as const),
  );
  return fc.tuple(...attributes, ...blocks).map((members) => Value.object(members));
}

function blocksOf(
  { nesting, block }: NestedBlockSchema,
  attribute: (schema: AttributeSchema) => fc.Arbitrary<Value>,
): fc.Arbitrary<Value> {
  const type = typeOfBlock(block);
  const object = objectOf(block, attribute);
  const several = fc.array(object, { maxLength: 2 });
  switch (nesting) {
    case "single":
      return fc.oneof(fc.constant(Value.null(type)), object);
    case "group":
      return object;
    case "list":
      return several.map((values) => Value.list(values, type));
    case "set":
      return several.map((values) => Value.set(values, type));
    case "map":
      return several.map((values) =>
        Value.map(
          values.map((value, i) => [`key_${i}`, value]),
          type,
        ),
      );
    default:
      return nesting satisfies never;
  }
}
