import { comparePaths, type Path } from "./path.ts";
import { PathTree } from "./path-tree.ts";

/** A set of paths, which can also be asked about prefixes: whether something lies at, above or below a path. */
export class PathSet implements Iterable<Path> {
  readonly #root = new PathTree<Path>();
  #size = 0;

  constructor(paths: Iterable<Path> = []) {
    for (const path of paths) this.add(path);
  }

  get size(): number {
    return this.#size;
  }

  add(path: Path): this {
    const tree = this.#root.grow(path);
    if (tree.content === undefined) this.#size += 1;
    tree.content ??= path;
    return this;
  }

  /** Whether it was there. */
  delete(path: Path): boolean {
    const tree = this.#root.find(path);
    if (tree?.content === undefined) return false;
    tree.content = undefined;
    this.#size -= 1;
    return true;
  }

  has(path: Path): boolean {
    return this.#root.find(path)?.content !== undefined;
  }

  /** Whether a member is the path itself or leads to something that contains it. */
  hasAtOrAbove(path: Path): boolean {
    let tree: PathTree<Path> | undefined = this.#root;
    for (const step of path.steps) {
      if (tree?.content !== undefined) return true;
      tree = tree?.child(step);
    }
    return tree?.content !== undefined;
  }

  /** Whether a member is the path itself or leads to something inside of it. */
  hasAtOrBelow(path: Path): boolean {
    const tree = this.#root.find(path);
    return tree !== undefined && members(tree).next().done !== true;
  }

  /** Members in the order of {@link comparePaths}. */
  [Symbol.iterator](): Iterator<Path> {
    return [...members(this.#root)].sort(comparePaths)[Symbol.iterator]();
  }
}

function* members(root: PathTree<Path>): Generator<Path> {
  const pending = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.content !== undefined) yield next.content;
    for (const child of next.children) pending.push(child);
  }
}
