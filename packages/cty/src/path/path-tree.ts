import { type Path, type PathStep, sameStep } from "./path.ts";

/** A text that equal steps share and different ones do not; undefined for keys that are neither string nor number. */
function stepText(step: PathStep): string | undefined {
  if (step.kind === "attribute") return `.${step.name}`;
  const [key] = step.key.unmark();
  if (!key.isKnown || key.isNull) return undefined;
  if (key.type.kind === "number") return `#${key.asBigFloat().text()}`;
  return key.type.kind === "string" ? `"${key.asString()}` : undefined;
}

/** Paths as a tree of steps, with something at each place that was set. Finding a child does not depend on their number. */
export class PathTree<T> {
  content: T | undefined;
  readonly #byText = new Map<string, PathTree<T>>();
  readonly #others: { readonly step: PathStep; readonly tree: PathTree<T> }[] = [];

  get isLeaf(): boolean {
    return this.#byText.size === 0 && this.#others.length === 0;
  }

  /** The subtrees behind one step, in no particular order. */
  get children(): PathTree<T>[] {
    return [...this.#byText.values(), ...this.#others.map((other) => other.tree)];
  }

  /** The subtree behind a step, or undefined where nothing was set. */
  child(step: PathStep): PathTree<T> | undefined {
    const text = stepText(step);
    if (text !== undefined) return this.#byText.get(text);
    return this.#others.find((other) => sameStep(other.step, step))?.tree;
  }

  /** The subtree at the path, or undefined where nothing was set. */
  find(path: Path): PathTree<T> | undefined {
    return path.steps.reduce<PathTree<T> | undefined>((tree, step) => tree?.child(step), this);
  }

  /** The subtree at the path, made where it was missing. */
  grow(path: Path): PathTree<T> {
    return path.steps.reduce<PathTree<T>>(
      (tree, step) => tree.child(step) ?? tree.#add(step),
      this,
    );
  }

  #add(step: PathStep): PathTree<T> {
    const tree = new PathTree<T>();
    const text = stepText(step);
    if (text === undefined) this.#others.push({ step, tree });
    else this.#byText.set(text, tree);
    return tree;
  }
}
