import { Value } from "@stackwright/cty";
import {
  type BlockSchema,
  emptyObject,
  type NestedBlockSchema,
  typeOfBlock,
} from "@stackwright/mux/router";
import { isPresent } from "./parts.ts";

/**
 * An object of a provider with the legacy type system, with blocks as every other provider returns them: no null or
 * unknown collections of blocks but empty ones, or one block of which nothing is known. Attributes stay as they are, and
 * so do blocks with attributes of any type, which such providers do not have.
 *
 * Source: Terraform's treatment of what ReadResource returns.
 */
export function normalizeLegacyObject(block: BlockSchema, object: Value): Value {
  if (!isPresent(object)) return object;
  const type = typeOfBlock(block);
  return Value.object(
    [...object.entries()].map(([name, value]) => {
      const nested = block.blocks.get(name);
      const open = type.attribute(name)?.hasDynamic === true;
      return [name, nested === undefined || open ? value : normalizeBlocks(nested, value)];
    }),
  );
}

function normalizeBlocks({ nesting, block }: NestedBlockSchema, value: Value): Value {
  const type = typeOfBlock(block);
  switch (nesting) {
    case "single":
      return value.isKnown ? normalizeLegacyObject(block, value) : unknownBlock(block);
    case "group":
      if (!value.isKnown) return unknownBlock(block);
      return value.isNull ? emptyObject(block) : normalizeLegacyObject(block, value);
    case "list":
      return Value.list(blocksOf(block, value), type);
    case "set":
      return Value.set(blocksOf(block, value), type);
    case "map":
      return value;
    default:
      return nesting satisfies never;
  }
}

function blocksOf(block: BlockSchema, value: Value): Value[] {
  if (!value.isKnown) return [unknownBlock(block)];
  return value.isNull
    ? []
    : value.elements().map((element) => normalizeLegacyObject(block, element));
}

/** A block in which every attribute is unknown. */
function unknownBlock(block: BlockSchema): Value {
  const empty = emptyObject(block);
  return normalizeLegacyObject(
    block,
    Value.object(
      [...empty.entries()].map(([name, value]) => {
        const type = block.attributes.get(name)?.type;
        if (type !== undefined) return [name, Value.unknown(type)];
        const nested = block.blocks.get(name);
        return [
          name,
          nested === undefined ? value : normalizeBlocks(nested, Value.unknown(value.type)),
        ];
      }),
    ),
  );
}
