import { getAttribute, type Path, type Type, Value } from "@stackwright/cty";
import { type BlockSchema, typeOfBlock } from "@stackwright/mux/router";

/** An attribute of an object: null in one that is null, unknown in one that is unknown. */
export function memberOf(object: Value, name: string, type: Type): Value {
  if (object.isKnown && object.isNull) return Value.null(type);
  if (!object.isKnown && object.type.kind === "dynamic") return Value.unknown(type);
  return getAttribute(object, name);
}

/** Whether there is content: neither null nor unknown. */
export function isPresent(value: Value): boolean {
  return value.isKnown && !value.isNull;
}

/** The elements of a list, tuple, map or object by key, with their paths. Sets have the element itself as key. */
export function elementsByKey(path: Path, value: Value): Map<string, readonly [Path, Value]> {
  const { kind } = value.type;
  if (kind === "object" || kind === "map") {
    return new Map(
      [...value.entries()].map(([key, element]) => [key, [path.index(key), element] as const]),
    );
  }
  return new Map(
    value.elements().map((element, position) => {
      const key = kind === "set" ? path.index(element) : path.index(position);
      return [String(position), [key, element] as const];
    }),
  );
}

/* Checks ask for the types of the same blocks again and again. */
const TYPES = new WeakMap<BlockSchema, ReturnType<typeof typeOfBlock>>();

/** The object type that a block implies, made once. */
export function blockType(block: BlockSchema): ReturnType<typeof typeOfBlock> {
  let type = TYPES.get(block);
  if (type === undefined) {
    type = typeOfBlock(block);
    TYPES.set(block, type);
  }
  return type;
}
