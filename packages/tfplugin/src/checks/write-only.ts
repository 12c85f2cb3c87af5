import { Path, Value } from "@stackwright/cty";
import type { AttributeSchema, BlockSchema, NestedBlockSchema } from "@stackwright/mux/router";
import { elementsByKey, isPresent } from "./parts.ts";

/* Most schemas have no write-only attributes, and objects are checked often: what has none is not walked. */
const KNOWN_BLOCKS = new WeakMap<BlockSchema, boolean>();

function hasWriteOnly(block: BlockSchema): boolean {
  let found = KNOWN_BLOCKS.get(block);
  if (found === undefined) {
    found =
      [...block.attributes.values()].some(isWriteOnlyWithin) ||
      [...block.blocks.values()].some((nested) => hasWriteOnly(nested.block));
    KNOWN_BLOCKS.set(block, found);
  }
  return found;
}

function isWriteOnlyWithin({ writeOnly, nested }: AttributeSchema): boolean {
  return (
    writeOnly || (nested !== undefined && [...nested.attributes.values()].some(isWriteOnlyWithin))
  );
}

/** Write-only attributes of an object that are not null. */
export function writeOnlyPaths(block: BlockSchema, object: Value): Path[] {
  const found: Path[] = [];
  if (hasWriteOnly(block)) collect(block, Path.root, object, found);
  return found;
}

function collect(block: BlockSchema, path: Path, object: Value, found: Path[]): void {
  if (!isPresent(object)) return;
  for (const [name, value] of object.entries()) {
    const at = path.attribute(name);
    const attribute = block.attributes.get(name);
    const nested = block.blocks.get(name);
    if (attribute !== undefined) collectAttribute(attribute, at, value, found);
    else if (nested !== undefined && hasWriteOnly(nested.block)) {
      for (const [elementPath, element] of objectsIn(nested.nesting, at, value)) {
        collect(nested.block, elementPath, element, found);
      }
    }
  }
}

function collectAttribute(
  attribute: AttributeSchema,
  path: Path,
  value: Value,
  found: Path[],
): void {
  if (attribute.writeOnly) {
    if (!value.isNull) found.push(path);
    return;
  }
  const { nested } = attribute;
  if (nested === undefined || !isWriteOnlyWithin(attribute)) return;
  for (const [elementPath, element] of objectsIn(nested.nesting, path, value)) {
    if (!isPresent(element)) continue;
    for (const [name, part] of element.entries()) {
      const inner = nested.attributes.get(name);
      if (inner !== undefined) collectAttribute(inner, elementPath.attribute(name), part, found);
    }
  }
}

function objectsIn(
  nesting: NestedBlockSchema["nesting"],
  path: Path,
  value: Value,
): Iterable<readonly [Path, Value]> {
  if (!isPresent(value)) return [];
  if (nesting === "single" || nesting === "group") return [[path, value]];
  return elementsByKey(path, value).values();
}

/** The object with null in place of every write-only value, as it may be stored. */
export function withoutWriteOnly(block: BlockSchema, object: Value): Value {
  return hasWriteOnly(block) ? cleanBlock(block, object) : object;
}

function cleanBlock(block: BlockSchema, object: Value): Value {
  if (!isPresent(object)) return object;
  return Value.object(
    [...object.entries()].map(([name, value]) => {
      const attribute = block.attributes.get(name);
      const nested = block.blocks.get(name);
      if (attribute !== undefined) return [name, cleanAttribute(attribute, value)];
      if (nested === undefined || !hasWriteOnly(nested.block)) return [name, value];
      return [
        name,
        replaceObjects(nested.nesting, value, (part) => cleanBlock(nested.block, part)),
      ];
    }),
  );
}

function cleanAttribute(attribute: AttributeSchema, value: Value): Value {
  if (attribute.writeOnly) return Value.null(attribute.type);
  const { nested } = attribute;
  if (nested === undefined || !isWriteOnlyWithin(attribute)) return value;
  return replaceObjects(nested.nesting, value, (object) =>
    isPresent(object)
      ? Value.object(
          [...object.entries()].map(([name, part]) => {
            const inner = nested.attributes.get(name);
            return [name, inner === undefined ? part : cleanAttribute(inner, part)];
          }),
        )
      : object,
  );
}

function replaceObjects(
  nesting: NestedBlockSchema["nesting"],
  value: Value,
  replace: (object: Value) => Value,
): Value {
  if (!isPresent(value)) return value;
  if (nesting === "single" || nesting === "group") return replace(value);
  const { type } = value;
  if (type.kind === "object" || type.kind === "map") {
    const parts = [...value.entries()].map(([key, part]) => [key, replace(part)] as const);
    return type.kind === "object" ? Value.object(parts) : Value.map(parts, type.element);
  }
  const parts = value.elements().map(replace);
  if (type.kind === "list") return Value.list(parts, type.element);
  return type.kind === "set" ? Value.set(parts, type.element) : Value.tuple(parts);
}
