import { comparePaths, Path, type PathStep } from "../path/path.ts";
import { PathTree } from "../path/path-tree.ts";
import { Value } from "../value/value.ts";
import type { Difference } from "./diff.ts";
import { partsOf } from "./parts.ts";

/** What happens at one place. */
type Changes = readonly Difference[];

/**
 * The value with differences applied that `diff` found by position, all of them or some. With all of them the result is
 * the value after; differences that were left out keep what was before in their place. What is no longer there is
 * ignored.
 */
export function applyDiff(before: Value, differences: Iterable<Difference>): Value {
  const tree = new PathTree<Changes>();
  for (const difference of differences) {
    const place = tree.grow(difference.path);
    place.content = [...(place.content ?? []), difference];
  }
  return apply(before, tree) ?? before;
}

/** The value with what happens at and below its place; undefined where it is removed. */
function apply(value: Value, tree: PathTree<Changes>): Value | undefined {
  let result = tree.isLeaf ? value : applyBelow(value, tree);
  for (const change of tree.content ?? []) {
    if (change.kind === "removed") return undefined;
    if (change.kind === "changed") result = change.after.withMarksOf(result);
    if (change.kind === "marks") result = result.unmark()[0].withMarks(change.after);
  }
  return result;
}

function applyBelow(value: Value, tree: PathTree<Changes>): Value {
  const parts: (readonly [PathStep, Value])[] = [];
  for (const [path, part] of partsOf(Path.root, value)) {
    if (path.last === undefined) continue;
    const below = tree.child(path.last);
    const kept = below === undefined ? part : apply(part, below);
    if (kept !== undefined) parts.push([path.last, kept]);
  }
  const added = tree.children
    .flatMap((child) => child.content ?? [])
    .filter((change) => change.kind === "added")
    .sort((a, b) => comparePaths(a.path, b.path));
  for (const { path, after } of added) {
    if (path.last !== undefined) parts.push([path.last, after]);
  }
  return rebuild(value, parts).withMarksOf(value);
}

function rebuild(value: Value, parts: readonly (readonly [PathStep, Value])[]): Value {
  const { type } = value;
  const values = parts.map(([, part]) => part);
  if (type.kind === "list" || type.kind === "set") return Value[type.kind](values, type.element);
  if (type.kind === "map") return Value.map(entriesOf(parts), type.element);
  if (type.kind === "tuple") return Value.tuple(values);
  return type.kind === "object" ? Value.object(entriesOf(parts)) : value;
}

function entriesOf(parts: readonly (readonly [PathStep, Value])[]): (readonly [string, Value])[] {
  return parts.map(([step, part]) => [
    step.kind === "attribute" ? step.name : step.key.asString(),
    part,
  ]);
}
