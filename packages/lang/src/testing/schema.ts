import { Type } from "@stackwright/cty";
import type {
  SchemaAttribute,
  SchemaBlock,
  SchemaBlockType,
  SchemaNesting,
} from "../schema/block-schema.ts";

/** An attribute that may be set, unless `more` says otherwise. */
export function attribute(type: Type, more: Partial<SchemaAttribute> = {}): SchemaAttribute {
  return {
    type,
    required: false,
    optional: more.required !== true,
    computed: false,
    sensitive: false,
    writeOnly: false,
    deprecated: false,
    ...more,
  };
}

/** An attribute that is an object, or a collection of objects, with attributes of their own. */
export function nestedAttribute(
  nesting: Exclude<SchemaNesting, "group">,
  attributes: Readonly<Record<string, SchemaAttribute>>,
  more: Partial<SchemaAttribute> = {},
): SchemaAttribute {
  const object = Type.object(Object.entries(attributes).map(([name, { type }]) => [name, type]));
  const type = {
    single: object,
    list: Type.list(object),
    set: Type.set(object),
    map: Type.map(object),
  }[nesting];
  const nested = { nesting, attributes: new Map(Object.entries(attributes)) };
  return attribute(type, { ...more, nested });
}

export function block(
  attributes: Readonly<Record<string, SchemaAttribute>>,
  blocks: Readonly<Record<string, SchemaBlockType>> = {},
): SchemaBlock {
  return {
    attributes: new Map(Object.entries(attributes)),
    blocks: new Map(Object.entries(blocks)),
    deprecated: false,
  };
}

export function nestedBlock(
  nesting: SchemaNesting,
  inner: SchemaBlock,
  more: Partial<SchemaBlockType> = {},
): SchemaBlockType {
  return { nesting, block: inner, minItems: 0, maxItems: 0, ...more };
}
