import { Type } from "@stackwright/cty";

/** How a nested block or a nested attribute object occurs, and as what it is seen. */
export type SchemaNesting = "single" | "group" | "list" | "set" | "map";

/** What the language has to know about an attribute. Schemas that say more fit as well. */
export interface SchemaAttribute {
  /** Its type; of a `nested` attribute the type that the nested object implies. */
  readonly type: Type;
  /** Set for attributes that are objects with attributes of their own. */
  readonly nested?: {
    readonly nesting: Exclude<SchemaNesting, "group">;
    readonly attributes: ReadonlyMap<string, SchemaAttribute>;
  };
  readonly required: boolean;
  readonly optional: boolean;
  /** The provider may decide its value. */
  readonly computed: boolean;
  readonly sensitive: boolean;
  /** Never stored, so that ephemeral values may be given to it. */
  readonly writeOnly: boolean;
  readonly deprecated: boolean;
}

/** A type of nested blocks. */
export interface SchemaBlockType {
  readonly nesting: SchemaNesting;
  readonly block: SchemaBlock;
  readonly minItems: number;
  /** 0 means no limit. */
  readonly maxItems: number;
}

/**
 * What a provider allows in a body. Declared here by its form, so that the schemas of the provider
 * packages can be used without this package knowing them.
 */
export interface SchemaBlock {
  readonly attributes: ReadonlyMap<string, SchemaAttribute>;
  readonly blocks: ReadonlyMap<string, SchemaBlockType>;
  readonly deprecated: boolean;
}

type ObjectType = Extract<Type, { kind: "object" }>;

/**
 * The object type that a block implies. Lists and maps of blocks with an attribute of any type in
 * them are tuples and objects, whose types only values have: they are `dynamic` here.
 */
export function schemaType({ attributes, blocks }: SchemaBlock): ObjectType {
  return Type.object([
    ...[...attributes].map(([name, { type }]) => [name, type] as const),
    ...[...blocks].map(([name, { nesting, block }]) => [name, nest(nesting, block)] as const),
  ]);
}

function nest(nesting: SchemaNesting, block: SchemaBlock): Type {
  const object = schemaType(block);
  if (nesting === "single" || nesting === "group") return object;
  if (nesting === "set") return Type.set(object);
  if (object.hasDynamic) return Type.dynamic;
  return nesting === "list" ? Type.list(object) : Type.map(object);
}

/** What values of an attribute are converted to: attributes of nested objects may be left out. */
export function conversionType({ type, nested }: SchemaAttribute): Type {
  if (nested === undefined) return type;
  const optional: string[] = [];
  const attributes = [...nested.attributes].map(([name, attribute]) => {
    if (!attribute.required) optional.push(name);
    return [name, conversionType(attribute)] as const;
  });
  const object = Type.object(attributes, { optional });
  switch (nested.nesting) {
    case "list":
      return Type.list(object);
    case "set":
      return Type.set(object);
    case "map":
      return Type.map(object);
    case "single":
    default:
      return object;
  }
}

/**
 * An attribute that is a list or set of objects, as old providers declare what is usually written as
 * blocks. It may be given either way; this is the block that it is then read with.
 */
export function attributeAsBlock({ type, nested }: SchemaAttribute): SchemaBlockType | undefined {
  if (nested !== undefined || (type.kind !== "list" && type.kind !== "set")) return undefined;
  if (type.element.kind !== "object") return undefined;
  const attributes = new Map<string, SchemaAttribute>();
  for (const [name, inner] of type.element.attributes()) {
    attributes.set(name, { ...PLAIN, type: inner });
  }
  return {
    nesting: type.kind,
    block: { attributes, blocks: new Map(), deprecated: false },
    minItems: 0,
    maxItems: 0,
  };
}

const PLAIN: Omit<SchemaAttribute, "type"> = {
  required: false,
  optional: true,
  computed: false,
  sensitive: false,
  writeOnly: false,
  deprecated: false,
};
