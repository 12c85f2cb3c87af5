import type { Value } from "../value/value.ts";
import type { Type } from "./type.ts";

/**
 * What the application may define for values of its capsule type. Without any, values are equal when they hold the
 * identical object, and convert to and from nothing.
 */
export interface CapsuleOperations<T> {
  /** Equality of two encapsulated values. @default identity */
  equals?(a: T, b: T): boolean;
  /** A key that equal values share, which makes sets of them fast. @default one key for all */
  hashKey?(value: T): string;
  /** Whether values of `target` can be made by {@link convertTo}. @default never */
  canConvertTo?(target: Type): boolean;
  /** Makes a value of `target`. May throw `CTY_CONVERSION`. */
  convertTo?(value: T, target: Type): Value;
  /** Whether {@link convertFrom} takes values of `source`. @default never */
  canConvertFrom?(source: Type): boolean;
  /** Makes what is to be encapsulated from a known value. May throw `CTY_CONVERSION`. */
  convertFrom?(value: Value): T;
}
