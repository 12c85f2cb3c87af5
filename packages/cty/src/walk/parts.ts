import type { Path } from "../path/path.ts";
import { Type } from "../type/type.ts";
import { unreachable } from "../unreachable.ts";
import { haveCommonType } from "../value/parts.ts";
import { Entries, Sequence, SetElements } from "../value/payload.ts";
import { Value } from "../value/value.ts";

/** A part of a compound value, with its path. */
export type Part = readonly [path: Path, value: Value];

/**
 * The parts of a known, non-null compound value, which keep their own marks but do not get those of the whole; nothing
 * for other values. Lists and tuples by position, maps and objects by key, sets in iteration order.
 */
export function partsOf(path: Path, value: Value): Part[] {
  const payload = Value.payload(value.unmark()[0]);
  const { type } = value;
  if (payload instanceof Entries && type.kind === "map") {
    return Array.from(payload.map, ([key, item]) => [
      path.index(key),
      new Value(type.element, item),
    ]);
  }
  if (!(payload instanceof Sequence || payload instanceof SetElements)) return [];
  switch (type.kind) {
    case "set":
      return payload.items.map((item) => {
        const element = new Value(type.element, item);
        return [path.index(element), element];
      });
    case "list":
      return payload.items.map((item, i) => [path.index(i), new Value(type.element, item)]);
    case "tuple":
      return payload.items.map((item, i) => [
        path.index(i),
        new Value(type.elements[i] ?? Type.dynamic, item),
      ]);
    case "object":
      return payload.items.map((item, i) => [
        path.attribute(type.names[i] ?? ""),
        new Value(type.types[i] ?? Type.dynamic, item),
      ]);
    case "string":
    case "number":
    case "bool":
    case "dynamic":
    case "map":
    case "capsule":
      return [];
    default:
      return unreachable(type);
  }
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
