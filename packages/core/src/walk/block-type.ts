import type { Type } from "@stackwright/cty";
import { type BlockSchema, typeOfBlock } from "@stackwright/mux/router";

type ObjectType = Extract<Type, { kind: "object" }>;

const TYPES = new WeakMap<BlockSchema, ObjectType>();

/** The object type that a block implies, computed once per schema. */
export function blockType(block: BlockSchema): ObjectType {
  let type = TYPES.get(block);
  if (type === undefined) {
    type = typeOfBlock(block);
    TYPES.set(block, type);
  }
  return type;
}
