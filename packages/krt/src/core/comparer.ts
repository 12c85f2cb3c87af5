import { deepEqual, type Equals, visibleEqual } from "../equality.ts";

/**
 * Compares versions of the objects of one collection.
 *
 * Under structural equality it remembers in which field the last two differed, and looks there first: the
 * objects of a stream of changes mostly differ in the same one. Two primitives that differ there settle
 * the matter; everything else is left to the whole comparison, so that the answer is always the same.
 */
export class Comparer<T> {
  readonly #equals: Equals<T>;
  readonly #structural: boolean;
  #field: string | undefined;

  constructor(equals: Equals<T>) {
    this.#equals = equals;
    this.#structural = equals === deepEqual || equals === visibleEqual;
  }

  equal(a: T, b: T): boolean {
    if (!this.#structural) return this.#equals(a, b);
    if (a === b) return true;
    const field = this.#field;
    if (field !== undefined && isPlain(a) && typeof b === "object" && b !== null) {
      const left = a[field];
      const right = (b as Record<string, unknown>)[field];
      if (left !== right && isOrdinary(left) && isOrdinary(right)) return false;
    }
    if (this.#equals(a, b)) return true;
    this.#field = differingField(a, b);
    return false;
  }
}

/** Whether a value is a primitive that equals itself, so that being another one means to differ. */
function isOrdinary(value: unknown): boolean {
  return (
    typeof value === "string" ||
    typeof value === "boolean" ||
    typeof value === "undefined" ||
    (typeof value === "number" && !Number.isNaN(value))
  );
}

/** Whether an object is no instance of a class, and has no equality of its own. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || value.constructor !== Object) return false;
  return (value as { equals?: unknown }).equals === undefined;
}

function differingField(a: unknown, b: unknown): string | undefined {
  if (!isPlain(a) || !isPlain(b)) return undefined;
  for (const name in a) {
    if (a[name] !== b[name] && isOrdinary(a[name]) && isOrdinary(b[name])) return name;
  }
  return undefined;
}
