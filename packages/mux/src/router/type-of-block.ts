import { Type } from "@stackwright/cty";
import type { AttributeSchema, BlockSchema, NestedBlockSchema, Nesting } from "./schema.ts";

/**
 * The object type that a block implies. Lists and maps of blocks with an attribute of any type in them become
 * tuples and objects, of which only each value knows the type: they are `dynamic` here.
 */
export function typeOfBlock({
  attributes,
  blocks,
}: BlockSchema): Extract<Type, { kind: "object" }> {
  const members: (readonly [string, Type])[] = [
    ...[...attributes].map(([name, { type }]) => [name, type] as const),
    ...[...blocks].map(([name, nested]) => [name, typeOfNestedBlock(nested)] as const),
  ];
  return Type.object(members);
}

function typeOfNestedBlock({ nesting, block }: NestedBlockSchema): Type {
  return nest(nesting, typeOfBlock(block));
}

/** The type of an attribute that is an object with attributes of its own. */
export function typeOfNestedAttributes(
  nesting: Exclude<Nesting, "group">,
  attributes: ReadonlyMap<string, AttributeSchema>,
): Type {
  const members = [...attributes].map(([name, { type }]) => [name, type] as const);
  return nest(nesting, Type.object(members));
}

function nest(nesting: Nesting, object: Type): Type {
  switch (nesting) {
    case "single":
    case "group":
      return object;
    case "list":
      return object.hasDynamic ? Type.dynamic : Type.list(object);
    case "set":
      return Type.set(object);
    case "map":
      return object.hasDynamic ? Type.dynamic : Type.map(object);
    default:
      return nesting satisfies never;
  }
}
