import { groupBy } from "../group-by.ts";
import { Path } from "../path/path.ts";
import type { Marks } from "../value/marks.ts";
import { setHashText } from "../value/set-hash.ts";
import { Value } from "../value/value.ts";
import { alignSequences } from "./align.ts";
import { type Part, partsOf } from "./parts.ts";

/** One place where two values differ. */
export type Difference =
  | { readonly kind: "added"; readonly path: Path; readonly after: Value }
  | { readonly kind: "removed"; readonly path: Path; readonly before: Value }
  | { readonly kind: "changed"; readonly path: Path; readonly before: Value; readonly after: Value }
  | { readonly kind: "marks"; readonly path: Path; readonly before: Marks; readonly after: Marks };

/** How to compare. */
export interface DiffOptions {
  /**
   * Elements of lists and tuples: by `position`, so that an element inserted in front changes all behind it, or as a
   * `sequence`, which finds what was inserted and taken out. Paths of removed elements count in the value before, all
   * others in the value after. @default "position"
   */
  readonly lists?: "position" | "sequence";
}

/**
 * Where two values differ, as deep down as they can be compared part by part: attributes by name, elements of maps by
 * key, of sets by being there or not. Null, unknown, and values of different kinds are compared as wholes; an unknown is
 * the same only as an unknown with the same refinements. Differences of marks are reported on their own. The order is that of
 * a walk; empty exactly if the two values are the same in every respect.
 */
export function diff(before: Value, after: Value, options: DiffOptions = {}): Difference[] {
  const found: Difference[] = [];
  compare(Path.root, before, after, options.lists ?? "position", found);
  return found;
}

function compare(
  path: Path,
  before: Value,
  after: Value,
  lists: "position" | "sequence",
  found: Difference[],
): void {
  if (before === after) return;
  if (!before.marks.equals(after.marks)) {
    found.push({ kind: "marks", path, before: before.marks, after: after.marks });
  }
  const [a] = before.unmark();
  const [b] = after.unmark();
  if (!comparable(a, b)) {
    if (!a.rawEquals(b)) found.push({ kind: "changed", path, before: a, after: b });
    return;
  }
  const left = partsOf(path, a);
  const right = partsOf(path, b);
  for (const [from, to] of pairs(a, left, right, lists)) {
    if (from === undefined) {
      if (to !== undefined) found.push({ kind: "added", path: to[0], after: to[1] });
    } else if (to === undefined) found.push({ kind: "removed", path: from[0], before: from[1] });
    else compare(to[0], from[1], to[1], lists, found);
  }
}

/** Whether the two are compounds of one kind whose parts can be compared. */
function comparable(a: Value, b: Value): boolean {
  if (!a.isKnown || !b.isKnown || a.isNull || b.isNull || a.type.kind !== b.type.kind) return false;
  const { kind } = a.type;
  if (kind === "object" || kind === "tuple") return true;
  if (a.type.kind !== "list" && a.type.kind !== "set" && a.type.kind !== "map") return false;
  // Collections of different element types differ as wholes, even where they have no elements.
  return b.type.kind === a.type.kind && a.type.element.equals(b.type.element);
}

type Pair = readonly [before: Part | undefined, after: Part | undefined];

function pairs(
  value: Value,
  left: readonly Part[],
  right: readonly Part[],
  lists: "position" | "sequence",
): Iterable<Pair> {
  const { kind } = value.type;
  if (kind === "set") return byMembership(left, right);
  if (kind !== "list" && kind !== "tuple") return byKey(left, right);
  return lists === "position"
    ? byPosition(left, right)
    : alignSequences(left, right, ([, a], [, b]) => a.rawEquals(b));
}

function* byPosition(left: readonly Part[], right: readonly Part[]): Generator<Pair> {
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) yield [left[i], right[i]];
}

function keyOf([path]: Part): string {
  const step = path.last;
  if (step === undefined) return "";
  return step.kind === "attribute" ? step.name : step.key.asString();
}

function* byKey(left: readonly Part[], right: readonly Part[]): Generator<Pair> {
  const after = new Map(right.map((part) => [keyOf(part), part]));
  for (const part of left) {
    const key = keyOf(part);
    yield [part, after.get(key)];
    after.delete(key);
  }
  for (const part of after.values()) yield [undefined, part];
}

/** A text that equal elements share. Elements of sets have no marks. */
function elementKey(element: Value): string {
  return setHashText(element.type, Value.payload(element));
}

/** Both sides iterate equal elements in the same order, but an element may be there several times as an unknown. */
function* byMembership(left: readonly Part[], right: readonly Part[]): Generator<Pair> {
  const rest = groupBy(right, ([, value]) => elementKey(value));
  for (const part of left) {
    const candidates = rest.get(elementKey(part[1])) ?? [];
    const index = candidates.findIndex(([, value]) => value.rawEquals(part[1]));
    if (index < 0) yield [part, undefined];
    else candidates.splice(index, 1);
  }
  for (const part of [...rest.values()].flat()) yield [undefined, part];
}
