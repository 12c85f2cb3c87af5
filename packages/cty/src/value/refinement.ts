import { CtyError } from "../errors.ts";
import { compareNumbers, equalNumbers, type NumberPayload } from "../number/number-payload.ts";

/** One end of a range of numbers. */
export interface NumberBound {
  readonly value: NumberPayload;
  readonly inclusive: boolean;
}

/**
 * What is known about an unknown value besides its type. Absent members say nothing. Every statement except `notNull`
 * holds only if the value turns out not to be null. Which members may be present depends on the type: `prefix` for
 * strings, `min` and `max` for numbers, the lengths for collections.
 *
 * Invariants: never empty (such an unknown has no refinement at all), bounds are not infinite, `minLength` is positive,
 * and no combination that allows just one value (that value is used instead).
 */
export interface Refinement {
  readonly notNull?: boolean;
  readonly prefix?: string;
  readonly min?: NumberBound;
  readonly max?: NumberBound;
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** Upper bound of lengths that mean nothing, because no collection is longer: the largest signed 64-bit integer. */
export const UNBOUNDED_LENGTH = 9223372036854775807n;

/** The refinement without members that say nothing; undefined when nothing remains. */
export function compactRefinement(refinement: Refinement): Refinement | undefined {
  const result: { -readonly [K in keyof Refinement]: Refinement[K] } = {};
  if (refinement.notNull === true) result.notNull = true;
  if (refinement.prefix !== undefined && refinement.prefix !== "")
    result.prefix = refinement.prefix;
  if (refinement.min !== undefined && !isInfinite(refinement.min.value))
    result.min = refinement.min;
  if (refinement.max !== undefined && !isInfinite(refinement.max.value))
    result.max = refinement.max;
  if (refinement.minLength !== undefined && refinement.minLength > 0) {
    result.minLength = refinement.minLength;
  }
  if (refinement.maxLength !== undefined && refinement.maxLength !== Infinity) {
    result.maxLength = refinement.maxLength;
  }
  return Object.keys(result).length === 0 ? undefined : result;
}

function isInfinite(value: NumberPayload): boolean {
  return typeof value !== "number" && value.isInfinite;
}

/** The conjunction of two refinements. Throws `CTY_REFINEMENT` where no value satisfies both. */
export function intersectRefinements(a: Refinement, b: Refinement): Refinement {
  const result: { -readonly [K in keyof Refinement]: Refinement[K] } = { ...a, ...b };
  if (a.notNull === true) result.notNull = true;
  if (a.prefix !== undefined && b.prefix !== undefined) {
    const [short, long] =
      a.prefix.length <= b.prefix.length ? [a.prefix, b.prefix] : [b.prefix, a.prefix];
    if (!long.startsWith(short)) {
      throw new CtyError(
        "CTY_REFINEMENT",
        "two known prefixes of one string contradict each other",
      );
    }
    result.prefix = long;
  }
  if (a.min !== undefined && b.min !== undefined) result.min = tighter(a.min, b.min, 1);
  if (a.max !== undefined && b.max !== undefined) result.max = tighter(a.max, b.max, -1);
  if (a.minLength !== undefined && b.minLength !== undefined) {
    result.minLength = Math.max(a.minLength, b.minLength);
  }
  if (a.maxLength !== undefined && b.maxLength !== undefined) {
    result.maxLength = Math.min(a.maxLength, b.maxLength);
  }
  if (result.min !== undefined && result.max !== undefined) {
    const order = compareNumbers(result.min.value, result.max.value);
    if (order > 0 || (order === 0 && !(result.min.inclusive && result.max.inclusive))) {
      throw new CtyError("CTY_REFINEMENT", "the lower bound of a number is above its upper bound");
    }
  }
  if ((result.minLength ?? 0) > (result.maxLength ?? Infinity)) {
    throw new CtyError("CTY_REFINEMENT", "the least length of a collection is above its greatest");
  }
  return result;
}

/** The bound that allows fewer numbers; `side` is 1 for lower and -1 for upper bounds. */
function tighter(a: NumberBound, b: NumberBound, side: 1 | -1): NumberBound {
  const order = compareNumbers(a.value, b.value) * side;
  if (order !== 0) return order > 0 ? a : b;
  return a.inclusive ? b : a;
}

/** Whether the two say the same. */
export function sameRefinement(a: Refinement | undefined, b: Refinement | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  return (
    a.notNull === b.notNull &&
    a.prefix === b.prefix &&
    a.minLength === b.minLength &&
    a.maxLength === b.maxLength &&
    sameBound(a.min, b.min) &&
    sameBound(a.max, b.max)
  );
}

function sameBound(a: NumberBound | undefined, b: NumberBound | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.inclusive === b.inclusive && equalNumbers(a.value, b.value);
}

/** Whether a number lies within the bounds. */
export function withinBounds(value: NumberPayload, { min, max }: Refinement): boolean {
  if (min !== undefined) {
    const order = compareNumbers(value, min.value);
    if (order < 0 || (order === 0 && !min.inclusive)) return false;
  }
  if (max !== undefined) {
    const order = compareNumbers(value, max.value);
    if (order > 0 || (order === 0 && !max.inclusive)) return false;
  }
  return true;
}

/** The only number the bounds leave, if they leave one. */
export function onlyNumber({ notNull, min, max }: Refinement): NumberPayload | undefined {
  if (notNull !== true || min === undefined || max === undefined) return undefined;
  if (!min.inclusive || !max.inclusive) return undefined;
  return equalNumbers(min.value, max.value) ? min.value : undefined;
}
