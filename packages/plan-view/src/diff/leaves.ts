import { deepValues, type Path, type Value } from "@stackwright/cty";
import { leafKey, shapeOf } from "./value-shape.ts";

/** Numbers for texts, so that leaves are compared as numbers. One for all values that are compared with each other. */
export class LeafNumbers {
  readonly #numbers = new Map<string, number>();

  of(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(text, number);
    return number;
  }
}

/**
 * The leaves of one element, as a sorted multiset of (place, content). Positions in lists and sets are no part of a place:
 * an element that only moves inside of its list agrees with itself.
 */
export class Leaves {
  /** Number of leaves, at least 1: what removing or inserting the element costs. */
  readonly weight: number;
  /** Equal for elements that are equal. Different ones may share it: it says nothing of nulls, marks and positions. */
  readonly content: number;
  readonly #shape: string;
  readonly #sorted: Int32Array;
  /** Places that are not known yet, which agree with anything. */
  readonly #open: ReadonlySet<number>;
  readonly #places: Int32Array;

  constructor(value: Value, numbers: LeafNumbers) {
    const leaves: (readonly [leaf: number, place: number])[] = [];
    const open = new Set<number>();
    const [whole] = value.unmark();
    this.#shape = !whole.isKnown ? "open" : whole.isNull ? "null" : shapeOf(whole);
    for (const [path, part] of deepValues(value)) {
      const [plain] = part.unmark();
      const place = placeOf(path);
      if (!plain.isKnown) open.add(numbers.of(place));
      else if (!plain.isNull && shapeOf(plain) === "leaf") {
        leaves.push([numbers.of(`${place}\0${leafKey(plain)}`), numbers.of(place)]);
      }
    }
    leaves.sort(([left], [right]) => left - right);
    this.#sorted = Int32Array.from(leaves, ([leaf]) => leaf);
    this.#places = Int32Array.from(leaves, ([, place]) => place);
    this.#open = open;
    this.weight = Math.max(1, leaves.length + open.size);
    this.content = numbers.of(`\u0001${this.weight} ${this.#sorted.join(" ")}`);
  }

  /** An element of which nothing is known. */
  get isOpen(): boolean {
    return this.#shape === "open";
  }

  /** A number, text or truth value. */
  get isLeaf(): boolean {
    return this.#shape === "leaf" || this.#shape === "null";
  }

  /** Whether the two are of one shape: two mappings, two sequences. */
  fits(other: Leaves): boolean {
    return this.isOpen || other.isOpen || this.#shape === other.#shape;
  }

  /** How many leaves of the two agree, each counted once. */
  agreeing(other: Leaves): number {
    if (this.isOpen || other.isOpen) return Math.min(this.weight, other.weight);
    const [left, right] = [this.#sorted, other.#sorted];
    const any = this.#open.size > 0 || other.#open.size > 0;
    let agreeing = 0;
    let [i, j] = [0, 0];
    while (i < left.length && j < right.length) {
      const [a, b] = [left[i] ?? 0, right[j] ?? 0];
      if (a === b) {
        agreeing++;
        i++;
        j++;
      } else if (a < b) {
        if (any && other.#open.has(this.#places[i] ?? -1)) agreeing++;
        i++;
      } else {
        if (any && this.#open.has(other.#places[j] ?? -1)) agreeing++;
        j++;
      }
    }
    if (any) {
      for (; i < left.length; i++) if (other.#open.has(this.#places[i] ?? -1)) agreeing++;
      for (; j < right.length; j++) if (this.#open.has(other.#places[j] ?? -1)) agreeing++;
      for (const place of this.#open) if (other.#open.has(place)) agreeing++;
    }
    return Math.min(agreeing, this.weight, other.weight);
  }
}

function placeOf({ steps }: Path): string {
  return steps
    .map((step) => {
      if (step.kind === "attribute") return `.${step.name}`;
      const [key] = step.key.unmark();
      return key.isKnown && !key.isNull && key.type.kind === "string" ? `.${key.asString()}` : "[]";
    })
    .join("");
}
