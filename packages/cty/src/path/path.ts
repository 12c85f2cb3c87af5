import { compareStrings } from "../text/strings.ts";
import { Value } from "../value/value.ts";

/** One step down into a value: to an attribute of an object, or to an element by its key. */
export type PathStep =
  | { readonly kind: "attribute"; readonly name: string }
  | { readonly kind: "index"; readonly key: Value };

/**
 * A place in a value, as the steps that lead there. The key of a list or tuple element is its number, of a map element
 * its string, of a set element the element itself; in a path through a type the key may be unknown, for "any".
 *
 * Paths are immutable and share their beginnings: extending one costs the same however long it is.
 */
export class Path {
  /** The value itself. */
  static readonly root = new Path(undefined, undefined, 0);

  readonly parent: Path | undefined;
  readonly length: number;
  /** The last step, or just its key: walks create a path for every part, and few of them are ever read. */
  #last: PathStep | number | string | undefined;

  private constructor(
    parent: Path | undefined,
    last: PathStep | number | string | undefined,
    length: number,
  ) {
    this.parent = parent;
    this.#last = last;
    this.length = length;
  }

  /** The last step; undefined for the root alone. */
  get last(): PathStep | undefined {
    const last = this.#last;
    if (typeof last === "number") this.#last = { kind: "index", key: Value.number(last) };
    else if (typeof last === "string") this.#last = { kind: "index", key: Value.string(last) };
    else return last;
    return this.#last;
  }

  static from(steps: Iterable<PathStep>): Path {
    let path = Path.root;
    for (const step of steps) path = path.step(step);
    return path;
  }

  step(step: PathStep): Path {
    return new Path(this, step, this.length + 1);
  }

  /** One step to an attribute of an object. */
  attribute(name: string): Path {
    return this.step({ kind: "attribute", name });
  }

  /** One step to an element of a collection or tuple. */
  index(key: Value | number | string): Path {
    if (typeof key === "object") return this.step({ kind: "index", key });
    return new Path(this, key, this.length + 1);
  }

  /** The steps of this path from the outermost on. */
  get steps(): PathStep[] {
    const steps: PathStep[] = this.last === undefined ? [] : [this.last];
    for (let path = this.parent; path?.last !== undefined; path = path.parent) {
      steps.push(path.last);
    }
    return steps.reverse();
  }

  /** The steps of `other` behind the steps of this path. */
  concat(other: Path): Path {
    return other.steps.reduce<Path>((path, step) => path.step(step), this);
  }

  equals(other: Path): boolean {
    return this.length === other.length && samePaths(this, other);
  }

  /** Whether this path begins with all steps of the other. */
  startsWith(prefix: Path): boolean {
    return this.length >= prefix.length && samePaths(ancestor(this, prefix.length), prefix);
  }

  /** The path as the template language writes it: `.name[0]["key"]`, `[*]` for an unknown key. */
  toString(): string {
    return this.steps.map(stepText).join("");
  }
}

function ancestor(path: Path, length: number): Path {
  let current = path;
  while (current.length > length && current.parent !== undefined) current = current.parent;
  return current;
}

/** Compares paths of one length from their ends on, until they share the rest. */
function samePaths(a: Path, b: Path): boolean {
  let x: Path | undefined = a;
  let y: Path | undefined = b;
  while (x !== y && x?.last !== undefined && y?.last !== undefined) {
    if (!sameStep(x.last, y.last)) return false;
    x = x.parent;
    y = y.parent;
  }
  return true;
}

/** Whether two steps are the same. Keys are compared with their types: `[0]` is not `["0"]`. */
export function sameStep(a: PathStep, b: PathStep): boolean {
  if (a.kind === "attribute") return b.kind === "attribute" && a.name === b.name;
  return b.kind === "index" && a.key.rawEquals(b.key);
}

function stepText(step: PathStep): string {
  if (step.kind === "attribute") return `.${step.name}`;
  const [key] = step.key.unmark();
  if (!key.isKnown) return "[*]";
  if (!key.isNull && key.type.kind === "number") return `[${key.asBigFloat().text()}]`;
  if (!key.isNull && key.type.kind === "string") return `[${JSON.stringify(key.asString())}]`;
  return "[...]";
}

/**
 * A total order of paths: a prefix comes first, attributes before elements, names and string keys by code point, numbers
 * by size. Elements of sets have no order among each other.
 */
export function comparePaths(a: Path, b: Path): number {
  const x = a.steps;
  const y = b.steps;
  for (const [i, step] of x.entries()) {
    const other = y[i];
    if (other === undefined) return 1;
    const order = compareSteps(step, other);
    if (order !== 0) return order;
  }
  return x.length - y.length;
}

function compareSteps(a: PathStep, b: PathStep): number {
  if (a.kind !== b.kind) return a.kind === "attribute" ? -1 : 1;
  if (a.kind === "attribute") return b.kind === "attribute" ? compareStrings(a.name, b.name) : 0;
  if (b.kind !== "index") return 0;
  const x = a.key.unmark()[0];
  const y = b.key.unmark()[0];
  if (x.type !== y.type) return compareStrings(x.type.kind, y.type.kind);
  if (x.isNull || y.isNull || !x.isKnown || !y.isKnown) return 0;
  if (x.type.kind === "number") return x.asBigFloat().compare(y.asBigFloat());
  if (x.type.kind === "string") return compareStrings(x.asString(), y.asString());
  return 0;
}
