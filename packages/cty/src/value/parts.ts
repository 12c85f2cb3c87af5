import { CtyError } from "../errors.ts";
import { typeName } from "../type/names.ts";
import { Type, withoutOptionalAttributes } from "../type/type.ts";
import { compareStrings, isStrictlySorted, normalizeString } from "./strings.ts";

/** Anything with a type. */
interface Typed {
  readonly type: Type;
}

/**
 * The element type of a collection of these values: the one that is given, or else that of the first value whose type
 * is known. Values of type `dynamic` fit any. Throws `CTY_INVALID_VALUE` where the values disagree or nothing tells.
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

/** The entries with normalised keys in code-point order. Of equal keys the last one counts. */
export function sortedEntries<T>(
  entries: Readonly<Record<string, T>> | Iterable<readonly [string, T]>,
): Map<string, T> {
  const given: Iterable<readonly [string, T]> =
    Symbol.iterator in entries ? entries : Object.entries(entries);
  const byKey = new Map<string, T>();
  for (const [key, value] of given) byKey.set(normalizeString(key), value);
  const keys = [...byKey.keys()];
  if (isStrictlySorted(keys)) return byKey;
  return new Map([...byKey].sort(([a], [b]) => compareStrings(a, b)));
}
