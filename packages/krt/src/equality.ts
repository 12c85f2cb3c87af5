import { builtInComparison, type CompareInner } from "./built-in-equality.ts";

/** Decides whether a change of an object is one. */
export type Equals<T> = (a: T, b: T) => boolean;

/**
 * Structural equality of plain data: primitives (by `===`, and `NaN` equals itself), arrays, plain objects,
 * and the built-in classes `Map`, `Set`, `Date`, `RegExp`, typed arrays, `ArrayBuffer`, `DataView`, `Error`
 * and its built-in kinds, `URL`, `URLSearchParams`, `Headers` and wrappers of primitives.
 *
 * An instance of any other class may have state that is invisible from outside. A member function `equals` decides for
 * it; without one, only the same object is equal. Functions are equal to themselves only. Not compared are
 * properties with symbols as names, named properties of arrays, the order of fields, and stacks of
 * errors. Cyclic data is not supported.
 */
export function deepEqual(a: unknown, b: unknown): boolean {
  return a === b || equalValues(a, b, false);
}

/**
 * As {@link deepEqual}, but instances of all classes are compared by their enumerable fields. Only for
 * classes that keep everything in such fields: a change of a private field is not seen.
 */
export function visibleEqual(a: unknown, b: unknown): boolean {
  return a === b || equalValues(a, b, true);
}

/** `visible`: whether instances of unknown classes are compared by their fields. */
function equalValues(a: unknown, b: unknown, visible: boolean): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
    return Number.isNaN(a) && Number.isNaN(b);
  }
  const prototype: unknown = Object.getPrototypeOf(a);
  if (prototype !== Object.getPrototypeOf(b)) return false;
  if (prototype === Object.prototype) return equalFields(a, b, visible);
  if (prototype === Array.prototype) {
    return equalElements(a as readonly unknown[], b as readonly unknown[], visible);
  }
  return equalInstances(a, b, prototype, visible);
}

/**
 * Fields that are absent and fields that are `undefined` differ, as they do in JSON patches of the
 * same data. The first loop reads `a` in its own order, which engines turn into indexed loads; the
 * second only counts.
 */
function equalFields(a: object, b: object, visible: boolean): boolean {
  let count = 0;
  for (const name in a) {
    const left = (a as Record<string, unknown>)[name];
    const right = (b as Record<string, unknown>)[name];
    if (left !== right && !equalValues(left, right, visible)) return false;
    if (right === undefined && !(name in b)) return false;
    count++;
  }
  for (const _ in b) count--;
  return count === 0;
}

function equalElements(a: readonly unknown[], b: readonly unknown[], visible: boolean): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const left = a[i];
    const right = b[i];
    if (left !== right && !equalValues(left, right, visible)) return false;
  }
  return true;
}

const INNER: CompareInner = innerOf(false);
const VISIBLE_INNER: CompareInner = innerOf(true);

function innerOf(visible: boolean): CompareInner {
  return {
    values: (a, b) => equalValues(a, b, visible),
    fields: (a, b) => equalFields(a, b, visible),
  };
}

function equalInstances(a: object, b: object, prototype: unknown, visible: boolean): boolean {
  const inner = visible ? VISIBLE_INNER : INNER;
  const builtIn = builtInComparison(prototype);
  if (builtIn !== undefined) return builtIn(a as never, b as never, inner);
  const own = (a as { equals?: unknown }).equals;
  if (typeof own === "function") return Boolean(own.call(a, b));
  if (prototype === null || !belongsToClass(prototype)) return equalFields(a, b, visible);
  if (Array.isArray(a) && isForeign(prototype, "Array")) {
    return equalElements(a, b as readonly unknown[], visible);
  }
  if (!visible) return false;
  const base = builtInBase(prototype);
  return (base === undefined || base(a as never, b as never, inner)) && equalFields(a, b, visible);
}

/** What a class that extends a built-in one is compared by, beyond its own fields. */
function builtInBase(prototype: unknown): ReturnType<typeof builtInComparison> {
  for (let at = prototype; at !== null; at = Object.getPrototypeOf(at)) {
    const found = builtInComparison(at);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Of all built-in iterators, which older runtimes give no constructor. */
const ITERATOR_PROTOTYPE: unknown = Object.getPrototypeOf(
  Object.getPrototypeOf([][Symbol.iterator]()),
);

/** Whether objects with this prototype were made by a class, and not by `Object.create` of plain data. */
function belongsToClass(prototype: unknown): boolean {
  if (typeof prototype !== "object" || prototype === null) return true;
  for (let at: unknown = prototype; at !== null; at = Object.getPrototypeOf(at)) {
    if (at === Object.prototype) return false;
    if (at === ITERATOR_PROTOTYPE) return true;
    if (Object.hasOwn(at as object, "constructor")) return !isForeign(at, "Object");
  }
  return false;
}

/** Whether this is the prototype of a built-in class of another realm, such as that of a `vm` context. */
function isForeign(prototype: unknown, name: string): boolean {
  const made: unknown = (prototype as { constructor?: unknown } | null)?.constructor;
  return (
    typeof made === "function" &&
    made.name === name &&
    made.prototype === prototype &&
    Function.prototype.toString.call(made).includes("[native code]")
  );
}

/** Marks an equality that leaves out parts of the objects on purpose. */
const SELECTIVE: unique symbol = Symbol("krt.selective");

/** Equality of the listed parts only, each compared structurally. */
export function byFields<T>(fields: (object: T) => readonly unknown[]): Equals<T> {
  const equals: Equals<T> = (a, b) => a === b || equalElements(fields(a), fields(b), false);
  return Object.assign(equals, { [SELECTIVE]: true });
}

/** Whether an equality is known to leave out parts of the objects on purpose. */
export function ignoresFields(equals: object): boolean {
  return SELECTIVE in equals;
}

/**
 * The property path of the first difference that shows, or `undefined` where {@link visibleEqual} holds:
 * what is found here is certain, while unequal by {@link deepEqual} may mean that equality is unknown.
 */
export function firstDifference(a: unknown, b: unknown, path = ""): string | undefined {
  if (visibleEqual(a, b)) return undefined;
  const bothObjects = typeof a === "object" && typeof b === "object" && a !== null && b !== null;
  if (!bothObjects || Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return path;
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const inner = path === "" ? name : `${path}.${name}`;
    const found = firstDifference(left[name], right[name], inner);
    if (found !== undefined) return found;
    if (name in left !== name in right) return inner;
  }
  return path;
}
