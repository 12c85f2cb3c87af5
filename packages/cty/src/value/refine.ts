import { CtyError } from "../errors.ts";
import { BigFloat } from "../number/big-float.ts";
import { expandNumber, type NumberPayload } from "../number/number-payload.ts";
import { normalizeString } from "../text/strings.ts";
import { typeName } from "../type/names.ts";
import { isCollectionType, type Type } from "../type/type.ts";
import {
  Entries,
  isNumberPayload,
  listPayload,
  type Payload,
  Sequence,
  SetElements,
  Unknown,
} from "./payload.ts";
import { lengthRange, rangeIncludes } from "./range.ts";
import {
  compactRefinement,
  intersectRefinements,
  type NumberBound,
  onlyNumber,
  type Refinement,
  withinBounds,
} from "./refinement.ts";
import { safeKnownPrefix } from "./safe-prefix.ts";
import { Value } from "./value.ts";

/** Longest list that replaces an unknown list of known length. Longer ones stay unknown, with their length. */
const MAX_EXPANDED_LENGTH = 10_000;

/** One end of a range of numbers. */
export interface NumberRangeBound {
  readonly value: Value | BigFloat | number | bigint;
  /** Whether the bound itself is in the range. @default true */
  readonly inclusive?: boolean;
}

/** What to state about a value. All but `notNull` hold only if the value is not null. */
export interface Refinements {
  readonly notNull?: boolean;
  /** How a string begins. Shortened by what later characters could change ({@link safeKnownPrefix}). */
  readonly prefix?: string;
  /** How a string begins, where the caller is sure that nothing behind it combines with its end. */
  readonly fullPrefix?: string;
  /** For numbers. An unknown bound states nothing. */
  readonly min?: NumberRangeBound;
  readonly max?: NumberRangeBound;
  /** For lists, sets and maps. */
  readonly minLength?: number;
  readonly maxLength?: number;
}

/**
 * Narrows what an unknown value can turn out to be, in addition to what is stated already. Where only one value
 * remains, that value is the result: a number whose bounds meet, an empty collection, a list of known length (with
 * unknown elements). For a known value the statements are checked and the value is returned. {@link Value.dynamic}
 * cannot be refined and stays as it is. Marks stay.
 *
 * Throws `CTY_REFINEMENT` for statements that contradict each other or the value, `CTY_WRONG_TYPE` for statements
 * that make no sense for its type.
 */
export function refine(value: Value, refinements: Refinements): Value {
  if (value.isMarked) {
    const [plain, marks] = value.unmark();
    return refine(plain, refinements).withMarks(marks);
  }
  const { type } = value;
  const payload = Value.payload(value);
  if (type.kind === "dynamic" && payload !== null) return value;
  const stated = toRefinement(type, refinements);
  if (payload instanceof Unknown) {
    return refinedUnknown(type, intersectRefinements(payload.refinement ?? {}, stated));
  }
  if (payload === null) {
    if (stated.notNull === true) throw violated("a null value cannot be refined to be not null");
    return value;
  }
  if (!satisfies(payload, stated)) throw violated("the value is outside of its refined range");
  return value;
}

/** {@link refine} with `notNull`, by far the most common refinement. */
export function refineNotNull(value: Value): Value {
  return refine(value, { notNull: true });
}

function violated(message: string): CtyError {
  return new CtyError("CTY_REFINEMENT", message);
}

function toRefinement(type: Type, given: Refinements): Refinement {
  const result: { -readonly [K in keyof Refinement]: Refinement[K] } = {};
  if (given.notNull === true) result.notNull = true;
  const prefix =
    given.fullPrefix ?? (given.prefix === undefined ? undefined : safeKnownPrefix(given.prefix));
  if (prefix !== undefined) {
    expectKind(type, type.kind === "string", "a prefix");
    result.prefix = normalizeString(prefix);
  }
  if (given.min !== undefined || given.max !== undefined) {
    expectKind(type, type.kind === "number", "bounds");
    const min = toBound(given.min);
    const max = toBound(given.max);
    if (min !== undefined) result.min = min;
    if (max !== undefined) result.max = max;
  }
  if (given.minLength !== undefined || given.maxLength !== undefined) {
    expectKind(type, isCollectionType(type), "a length");
    if (given.minLength !== undefined) result.minLength = given.minLength;
    if (given.maxLength !== undefined) result.maxLength = given.maxLength;
  }
  return result;
}

function expectKind(type: Type, fits: boolean, what: string): void {
  if (!fits) throw new CtyError("CTY_WRONG_TYPE", `${typeName(type)} cannot have ${what}`);
}

function toBound(bound: NumberRangeBound | undefined): NumberBound | undefined {
  if (bound === undefined) return undefined;
  const value = bound.value instanceof Value ? bound.value : Value.number(bound.value);
  if (!value.isKnown) return undefined;
  const number = value.asBigFloat();
  const payload = Value.payload(Value.number(number));
  if (!isNumberPayload(payload)) return undefined;
  return { value: payload, inclusive: bound.inclusive ?? true };
}

/** An unknown with these refinements, or the one value that they leave. */
export function refinedUnknown(type: Type, refinement: Refinement): Value {
  const number = onlyNumber(refinement);
  if (number !== undefined) return new Value(type, number);
  const { notNull, minLength = 0, maxLength } = refinement;
  if (notNull === true && minLength === maxLength) {
    const collection = collectionOfLength(type, minLength);
    if (collection !== undefined) return collection;
  }
  const compact = compactRefinement(refinement);
  return new Value(type, compact === undefined ? Unknown.plain : new Unknown(compact));
}

function collectionOfLength(type: Type, length: number): Value | undefined {
  if (type.kind === "list" && length <= MAX_EXPANDED_LENGTH) {
    const items = Array.from({ length }, () => Unknown.plain);
    return new Value(type, listPayload(type.element, items));
  }
  if (type.kind === "map" && length === 0) return new Value(type, new Entries(new Map(), 0));
  if (type.kind === "set" && length <= 1) {
    const { items, flags } = listPayload(type.element, length === 0 ? [] : [Unknown.plain]);
    return new Value(type, new SetElements(items, flags));
  }
  return undefined;
}

function satisfies(payload: Payload, stated: Refinement): boolean {
  if (typeof payload === "string") return payload.startsWith(stated.prefix ?? "");
  if (isNumberPayload(payload)) return withinBounds(payload, stated);
  if (payload instanceof Sequence || payload instanceof Entries || payload instanceof SetElements) {
    const [least, most] = lengthRange(payload);
    return most >= (stated.minLength ?? 0) && least <= (stated.maxLength ?? Infinity);
  }
  return true;
}

/** What is known about a value without reading the value itself: exact for a known one. */
export interface ValueRange {
  readonly type: Type;
  /** True or false where it is known whether the value is null. */
  readonly isNull: boolean | undefined;
  /** How the string begins, if it is one and not null. */
  readonly prefix: string;
  readonly min: { readonly value: BigFloat; readonly inclusive: boolean } | undefined;
  readonly max: { readonly value: BigFloat; readonly inclusive: boolean } | undefined;
  readonly minLength: number;
  /** `Infinity` where there is no bound. */
  readonly maxLength: number;
}

/** The range of a value. Throws `CTY_MARKED`: a range says something about the content. */
export function rangeOf(value: Value): ValueRange {
  if (value.isMarked)
    throw new CtyError("CTY_MARKED", "take the marks off before asking for a range");
  const payload = Value.payload(value);
  const { type } = value;
  const open = {
    type,
    prefix: "",
    min: undefined,
    max: undefined,
    minLength: 0,
    maxLength: Infinity,
  };
  if (payload === null) return { ...open, isNull: true };
  if (payload instanceof Unknown) {
    const {
      notNull,
      min,
      max,
      prefix = "",
      minLength = 0,
      maxLength = Infinity,
    } = payload.refinement ?? {};
    const isNull = notNull === true ? false : undefined;
    return {
      type,
      isNull,
      prefix,
      min: publicBound(min),
      max: publicBound(max),
      minLength,
      maxLength,
    };
  }
  if (typeof payload === "string") return { ...open, isNull: false, prefix: payload };
  if (isNumberPayload(payload)) {
    const bound = publicBound({ value: payload, inclusive: true });
    return { ...open, isNull: false, min: bound, max: bound };
  }
  if (isCollectionType(type)) {
    const [minLength, maxLength] = lengthRange(payload);
    return { ...open, isNull: false, minLength, maxLength };
  }
  return { ...open, isNull: false };
}

function publicBound(bound: NumberBound | undefined): ValueRange["min"] {
  return bound === undefined
    ? undefined
    : { value: toBigFloat(bound.value), inclusive: bound.inclusive };
}

function toBigFloat(value: NumberPayload): BigFloat {
  return value instanceof BigFloat ? value : expandNumber(value);
}

/**
 * Whether an unknown value could turn out to be the given known one: false where that is ruled out, true for a null
 * that is allowed, undefined otherwise. Both must be unmarked.
 */
export function couldBecome(unknown: Value, value: Value): boolean | undefined {
  const placeholder = Value.payload(unknown);
  if (!(placeholder instanceof Unknown)) return unknown.equals(value);
  return rangeIncludes(placeholder, unknown.type, Value.payload(value), value.type);
}
