import { CtyError } from "../errors.ts";
import { compareStrings, normalizeString } from "../text/strings.ts";
import { typeName } from "../type/names.ts";
import { Type, withoutOptionalAttributes } from "../type/type.ts";

/** Anything with a type. */
interface Typed {
  readonly type: Type;
}

/**
 * The element type of a collection of these values: the one that is given, or else that of the first value whose type
 * is known. Values of type `dynamic` fit any. Throws `CTY_INVALID_VALUE` where the values disagree or no type is known.
 */
export function commonElementType(
  kind: "list" | "set" | "map",
  values: readonly Typed[],
  given: Type | undefined,
): Type {
  let common = given === undefined ? undefined : withoutOptionalAttributes(given);
  for (const { type } of values) {
    if (type === common || type.kind === "dynamic") continue;
    if (common === undefined) common = type;
    else if (common.kind === "dynamic" && given === undefined) common = type;
    else if (!common.equals(type)) {
      throw new CtyError(
        "CTY_INVALID_VALUE",
        `the elements of a ${kind} must be of one type, got ${typeName(common)} and ${typeName(type)}`,
      );
    }
  }
  if (common !== undefined) return common;
  if (values.length > 0) return Type.dynamic;
  throw new CtyError("CTY_INVALID_VALUE", `an empty ${kind} needs an element type`);
}

/** Whether {@link commonElementType} would find a type for these values. */
export function haveCommonType(values: readonly Typed[]): boolean {
  let common: Type | undefined;
  for (const { type } of values) {
    if (type === common || type.kind === "dynamic") continue;
    if (common !== undefined && !common.equals(type)) return false;
    common ??= type;
  }
  return true;
}

/** Keys in code-point order, and what is under them in the same order. */
interface SortedEntries<T> {
  readonly keys: readonly string[];
  readonly values: readonly T[];
}

/**
 * The entries with normalised keys in code-point order. Of equal keys the last one counts. Entries that are in order
 * already, which nearly all are, cost one pass over two arrays.
 */
export function sortedEntries<T>(
  entries: Readonly<Record<string, T>> | Iterable<readonly [string, T]>,
): SortedEntries<T> {
  const given: Iterable<readonly [string, T]> =
    Symbol.iterator in entries ? entries : Object.entries(entries);
  const keys: string[] = [];
  const values: T[] = [];
  let sorted = true;
  for (const [key, value] of given) {
    const normal = normalizeString(key);
    const previous = keys.at(-1);
    sorted &&= previous === undefined || compareStrings(previous, normal) < 0;
    keys.push(normal);
    values.push(value);
  }
  return sorted ? { keys: keys.slice(), values: values.slice() } : sort(keys, values);
}

function sort<T>(keys: readonly string[], values: readonly T[]): SortedEntries<T> {
  const places = new Map(keys.map((key, i) => [key, i]));
  const order = [...places].sort(([a], [b]) => compareStrings(a, b));
  return {
    keys: order.map(([key]) => key),
    values: order.flatMap(([, place]) => values.slice(place, place + 1)),
  };
}

/** The map itself where its keys are normalised and in code-point order, else one in which they are. */
export function sortedMap<T>(map: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
  let previous: string | undefined;
  for (const key of map.keys()) {
    const inOrder = previous === undefined || compareStrings(previous, key) < 0;
    if (!inOrder || normalizeString(key) !== key) {
      const { keys, values } = sortedEntries(map);
      return new Map(
        keys.flatMap((name, i) => values.slice(i, i + 1).map((value) => [name, value] as const)),
      );
    }
    previous = key;
  }
  return map;
}
