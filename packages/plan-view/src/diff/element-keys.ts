import type { Value } from "@stackwright/cty";
import { INFERRED_KEYS, type PairingRule } from "./pairing-rules.ts";
import { leafKey, membersOf, shapeOf } from "./value-shape.ts";

/** The keys of the elements of both sides, in their order; undefined for an element without one. */
interface ElementKeys {
  readonly before: readonly (string | undefined)[];
  readonly after: readonly (string | undefined)[];
  /** Names of the members that the keys are made of. */
  readonly names: readonly string[];
}

/** Members that identify the elements that have them, even where others have none. */
const PARTIAL_KEYS: readonly string[] = ["name", "id", "key", "sid"];

/**
 * The keys that a rule names, else those of the first member of {@link INFERRED_KEYS} that every element of both sides has as
 * a known leaf, each value once per side, else those of a member by which some element is found on both sides again. A key
 * that a rule names and that is repeated on a side is no key there.
 */
export function elementKeys(
  before: readonly Value[],
  after: readonly Value[],
  rule: PairingRule | undefined,
): ElementKeys {
  const none = { before: [], after: [], names: [] };
  if (rule?.key !== undefined) {
    const names = rule.key;
    const keys = {
      before: onlyUnique(before.map((element) => keyOf(element, names))),
      after: onlyUnique(after.map((element) => keyOf(element, names))),
    };
    const found = [...keys.before, ...keys.after].some((key) => key !== undefined);
    return found ? { ...keys, names } : none;
  }
  const inferred = (name: string): Omit<ElementKeys, "names"> => ({
    before: before.map((element) => keyOf(element, [name])),
    after: after.map((element) => keyOf(element, [name])),
  });
  for (const name of INFERRED_KEYS) {
    const keys = inferred(name);
    if (isKey(keys.before) && isKey(keys.after)) {
      return { ...keys, names: writtenNames(name, [...before, ...after]) };
    }
  }
  for (const name of PARTIAL_KEYS) {
    const keys = inferred(name);
    const unique = { before: onlyUnique(keys.before), after: onlyUnique(keys.after) };
    const again = new Set(unique.after);
    if (unique.before.some((key) => key !== undefined && again.has(key))) {
      return { ...unique, names: writtenNames(name, [...before, ...after]) };
    }
  }
  return none;
}

/** How elements write the name of a member, whose case does not count. */
function writtenNames(name: string, elements: readonly Value[]): readonly string[] {
  const written = elements.flatMap((element) =>
    [...membersOf(element).keys()].filter((member) => member.toLowerCase() === name),
  );
  return [...new Set(written)];
}

function isKey(keys: readonly (string | undefined)[]): boolean {
  return !keys.includes(undefined) && new Set(keys).size === keys.length;
}

function onlyUnique(keys: readonly (string | undefined)[]): (string | undefined)[] {
  const counts = new Map<string, number>();
  for (const key of keys) if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
  return keys.map((key) => (key !== undefined && counts.get(key) === 1 ? key : undefined));
}

/** The content of the named members, without regard to the case of names; undefined if none is a known leaf. */
function keyOf(element: Value, names: readonly string[]): string | undefined {
  const parts = names.map((name) => leafAt(element, name.split(".")));
  return parts.every((part) => part === undefined) ? undefined : JSON.stringify(parts);
}

function leafAt(value: Value, [name, ...rest]: readonly string[]): string | undefined {
  if (name === undefined) {
    if (value.isMarked || !value.isKnown || value.isNull || shapeOf(value) !== "leaf") {
      return undefined;
    }
    return leafKey(value);
  }
  const members = membersOf(value);
  const member =
    members.get(name) ??
    [...members].find(([other]) => other.toLowerCase() === name.toLowerCase())?.[1];
  return member === undefined ? undefined : leafAt(member, rest);
}
