import type { Type } from "../type/type.ts";
import type { Value } from "../value/value.ts";

/**
 * Turns a value of one type into a value of another. Throws `CTY_CONVERSION` with the path of the offending part where
 * the content does not allow it. Unknown values become unknown values with what is still known about them, null becomes
 * null, marks stay.
 */
export type Convert = (value: Value) => Value;

/** A common type of several, and what takes a value of each of them there. */
export interface Unification {
  readonly type: Type;
  /** One per given type, in the same order; undefined where nothing needs to be done. */
  readonly conversions: readonly (Convert | undefined)[];
}

/**
 * Conversion and unification need each other: a tuple becomes a list by unifying its elements, and types are unified by
 * looking for conversions. The rules of both are written against this interface, and tied together in one place.
 */
export interface Converter {
  /** The conversion between two types; undefined where there is none. Unsafe ones may fail for some values. */
  find(from: Type, to: Type, unsafe: boolean): Convert | undefined;
  unify(types: readonly Type[], unsafe: boolean): Unification | undefined;
}
