import type { Value } from "@stackwright/cty";
import type { LeafNumbers } from "./leaves.ts";
import { Leaves } from "./leaves.ts";

/** One element of a list or set, prepared for comparison. Its leaves are collected when they are first needed. */
export class Element {
  readonly value: Value;
  readonly index: number;
  /** What identifies it among its neighbours; undefined where nothing does. */
  readonly key: string | undefined;
  readonly #numbers: LeafNumbers;
  #leaves: Leaves | undefined;

  constructor(value: Value, index: number, key: string | undefined, numbers: LeafNumbers) {
    this.value = value;
    this.index = index;
    this.key = key;
    this.#numbers = numbers;
  }

  get leaves(): Leaves {
    this.#leaves ??= new Leaves(this.value, this.#numbers);
    return this.#leaves;
  }

  /** Whether the two are the same; where the leaves of both are known, a number decides for most. */
  equals(other: Element): boolean {
    const [left, right] = [this.#leaves, other.#leaves];
    if (left !== undefined && right !== undefined && left.content !== right.content) return false;
    return this.value.rawEquals(other.value);
  }
}

export function elementsOf(
  values: readonly Value[],
  keys: readonly (string | undefined)[],
  numbers: LeafNumbers,
): Element[] {
  return values.map((value, index) => new Element(value, index, keys[index], numbers));
}

/** What pairing two elements with equal keys is worth: more than all leaves of an element. */
const KEY_BONUS = 1_000_000;

/**
 * What two elements cost as a pair: the leaves that do not agree. Infinity for two that are never shown as one: of different
 * keys or shapes, or with less than half in common unless they are the only elements of their lists (`alone`). The cost of not
 * pairing is the sum of their weights.
 */
export function pairCost(before: Element, after: Element, alone = false): number {
  const [was, is] = [before.leaves, after.leaves];
  if (!was.fits(is)) return Number.POSITIVE_INFINITY;
  const bothKeyed = before.key !== undefined && after.key !== undefined;
  if (bothKeyed && before.key !== after.key) return Number.POSITIVE_INFINITY;
  const isOpen = was.isOpen || is.isOpen;
  if (!bothKeyed && !isOpen && (was.isLeaf || is.isLeaf)) return Number.POSITIVE_INFINITY;
  const agreeing = was.agreeing(is);
  const cost = was.weight + is.weight - 2 * agreeing;
  if (bothKeyed) return cost - KEY_BONUS;
  if (isOpen || alone) return cost;
  return 2 * agreeing >= Math.max(was.weight, is.weight) ? cost : Number.POSITIVE_INFINITY;
}
