import type { Path } from "../path/path.ts";
import { Type } from "../type/type.ts";
import { unreachable } from "../unreachable.ts";
import { haveCommonType } from "../value/parts.ts";
import { Entries, Sequence, SetElements, unmarkedPayload } from "../value/payload.ts";
import { Value } from "../value/value.ts";

/** A part of a compound value, with its path. */
export type Part = readonly [path: Path, value: Value];

/**
 * Calls `visit` for the parts of a known, non-null compound value, which keep their own marks but do not get those of the
 * whole; not at all for other values. Lists and tuples by position, maps and objects by key, sets in iteration order.
 */
export function forEachPart(
  path: Path,
  value: Value,
  visit: (path: Path, part: Value) => void,
): void {
  const payload = unmarkedPayload(Value.payload(value));
  const { type } = value;
  if (payload instanceof Entries && type.kind === "map") {
    for (const [key, item] of payload.map) visit(path.index(key), new Value(type.element, item));
    return;
  }
  if (!(payload instanceof Sequence || payload instanceof SetElements)) return;
  const { items } = payload;
  switch (type.kind) {
    case "set":
      for (const item of items) {
        const element = new Value(type.element, item);
        visit(path.index(element), element);
      }
      break;
    case "list":
      for (let i = 0; i < items.length; i += 1) {
        visit(path.index(i), new Value(type.element, items[i] ?? null));
      }
      break;
    case "tuple":
      for (const [i, element] of type.elements.entries()) {
        visit(path.index(i), new Value(element, items[i] ?? null));
      }
      break;
    case "object":
      for (const [i, name] of type.names.entries()) {
        visit(path.attribute(name), new Value(type.types[i] ?? Type.dynamic, items[i] ?? null));
      }
      break;
    case "string":
    case "number":
    case "bool":
    case "dynamic":
    case "map":
    case "capsule":
      break;
    default:
      unreachable(type);
  }
}

/** The parts that {@link forEachPart} visits. */
export function partsOf(path: Path, value: Value): Part[] {
  const parts: Part[] = [];
  forEachPart(path, value, (partPath, part) => parts.push([partPath, part]));
  return parts;
}

/**
 * A compound like `value` with other parts, in the order of {@link partsOf}, and the same marks. Collections keep their
 * element type where all parts are of it, and get the common type of the parts otherwise.
 */
export function withParts(value: Value, parts: readonly Value[]): Value {
  return rebuild(value, parts).withMarksOf(value);
}

function rebuild(value: Value, parts: readonly Value[]): Value {
  const { type } = value;
  switch (type.kind) {
    case "list":
      return Value.list(parts, keptElement(type.element, parts));
    case "set":
      return Value.set(parts, keptElement(type.element, parts));
    case "map": {
      const [plain] = value.unmark();
      const keys = Array.from(plain.entries(), ([key]) => key);
      const entries = keys.map((key, i) => [key, parts[i] ?? Value.dynamic] as const);
      return Value.map(entries, keptElement(type.element, parts));
    }
    case "tuple":
      return Value.tuple(parts);
    case "object":
      if (parts.every((part, i) => type.types[i]?.equals(part.type) === true)) {
        return Value.objectOf(type, parts);
      }
      return Value.object(type.names.map((name, i) => [name, parts[i] ?? Value.dynamic] as const));
    case "string":
    case "number":
    case "bool":
    case "dynamic":
    case "capsule":
      return value;
    default:
      return unreachable(type);
  }
}

function keptElement(element: Type, parts: readonly Value[]): Type | undefined {
  return haveCommonType([{ type: element }, ...parts]) && element.kind !== "dynamic"
    ? element
    : parts.length === 0
      ? element
      : undefined;
}
