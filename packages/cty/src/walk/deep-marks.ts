import { unmarkDeep } from "../operation/operands.ts";
import { Path } from "../path/path.ts";
import { PathTree } from "../path/path-tree.ts";
import { Marks } from "../value/marks.ts";
import type { Value } from "../value/value.ts";
import { partsOf, withParts } from "./parts.ts";

export { unmarkDeep };

/** Marks at one place of a value. */
export interface PathMarks {
  readonly path: Path;
  readonly marks: Marks;
}

/**
 * The value with the marks of every part replaced by what `rewrite` returns for them; called only where there are any.
 * Parts without marks inside are neither visited nor copied.
 */
export function rewriteMarks(value: Value, rewrite: (marks: Marks, path: Path) => Marks): Value {
  const step = (path: Path, current: Value): Value => {
    if (!current.containsMarks) return current;
    const [plain, marks] = current.unmark();
    const rewritten = marks.isEmpty ? marks : rewrite(marks, path);
    if (!plain.containsMarks) return plain.withMarks(rewritten);
    const parts = partsOf(path, plain).map(([partPath, part]) => step(partPath, part));
    return withParts(plain, parts).withMarks(rewritten);
  };
  return step(Path.root, value);
}

/** The value without marks, and where which ones were, in the order of a walk. */
export function unmarkDeepWithPaths(value: Value): readonly [Value, readonly PathMarks[]] {
  const found: PathMarks[] = [];
  const plain = rewriteMarks(value, (marks, path) => {
    found.push({ path, marks });
    return Marks.none;
  });
  return [plain, found];
}

/** Union of the marks of the value and of all its parts. */
export function deepMarks(value: Value): Marks {
  return unmarkDeep(value)[1];
}

function allMarks(tree: PathTree<Marks>): Marks {
  return tree.children.reduce(
    (marks, inner) => marks.union(allMarks(inner)),
    tree.content ?? Marks.none,
  );
}

/**
 * The value with marks added at the given paths. A path into an element of a set marks the set. A path that leads into
 * an unknown marks the unknown, whose parts will come to light with it; a path to something that is not there is
 * ignored. Costs as much as the paths are long, and a copy of what they pass through.
 */
export function markWithPaths(value: Value, pathMarks: Iterable<PathMarks>): Value {
  const root = new PathTree<Marks>();
  for (const { path, marks } of pathMarks) {
    const tree = root.grow(path);
    tree.content = marks.union(tree.content ?? Marks.none);
  }
  return markTree(value, root);
}

function markTree(value: Value, tree: PathTree<Marks>): Value {
  const own = tree.content ?? Marks.none;
  if (tree.isLeaf) return value.withMarks(own);
  if (!value.isKnown) return value.withMarks(allMarks(tree));
  let changed = false;
  const parts = partsOf(Path.root, value).map(([path, part]) => {
    const inner = path.last === undefined ? undefined : tree.child(path.last);
    const result = inner === undefined ? part : markTree(part, inner);
    changed ||= result !== part;
    return result;
  });
  return (changed ? withParts(value, parts) : value).withMarks(own);
}
