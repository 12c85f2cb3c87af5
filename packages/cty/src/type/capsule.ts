import type { Value } from "../value/value.ts";
import type { Type } from "./type.ts";

/**
 * What the application may define for values of its capsule type. Without any, values are equal when they hold the
 * identical object, and convert to and from nothing.
 */
export interface CapsuleOperations<T> {
  /** Equality of two encapsulated values. @default identity */
  readonly equals?: (a: T, b: T) => boolean;
  /** A key that equal values share, which makes sets of them fast. @default one key for all */
  readonly hashKey?: (value: T) => string;
  /**
   * How to turn an encapsulated value into `target`; undefined where that is impossible. The function may throw
   * `CTY_CONVERSION`.
   */
  readonly conversionTo?: (target: Type) => ((value: T) => Value) | undefined;
  /**
   * How to make an encapsulated value of a known value of type `source`; undefined where that is impossible. The
   * function may throw `CTY_CONVERSION`.
   */
  readonly conversionFrom?: (source: Type) => ((value: Value) => T) | undefined;
  /** Text for debugging. @default the name of the type */
  readonly describe?: (value: T) => string;
}
