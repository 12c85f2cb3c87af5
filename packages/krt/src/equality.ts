/** Decides whether a change of an object is one. */
export type Equals<T> = (a: T, b: T) => boolean;

/**
 * Structural equality of plain data: primitives (by `===`, and `NaN` equals itself), arrays, plain objects, `Map`, `Set`,
 * `Date`, `RegExp`, typed arrays, and class instances field by field, where both have the same
 * prototype. A member function `equals` of such an instance decides instead. Cyclic data is not supported.
 */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
    return Number.isNaN(a) && Number.isNaN(b);
  }
  const prototype: unknown = Object.getPrototypeOf(a);
  if (prototype !== Object.getPrototypeOf(b)) return false;
  if (prototype === Object.prototype) {
    return equalFields(a as Record<string, unknown>, b as Record<string, unknown>);
  }
  if (Array.isArray(a)) return equalArrays(a, b as unknown[]);
  if (prototype === null) {
    return equalFields(a as Record<string, unknown>, b as Record<string, unknown>);
  }
  return equalInstances(a, b);
}

/**
 * Fields that are absent and fields that are `undefined` differ, as they do in JSON patches of the
 * same data. The first loop reads `a` in its own order, which engines turn into indexed loads; the
 * second only counts.
 */
function equalFields(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  let count = 0;
  for (const name in a) {
    const left = a[name];
    const right = b[name];
    if (left !== right && !deepEqual(left, right)) return false;
    if (right === undefined && !(name in b)) return false;
    count++;
  }
  for (const _ in b) count--;
  return count === 0;
}

function equalArrays(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const left = a[i];
    const right = b[i];
    if (left !== right && !deepEqual(left, right)) return false;
  }
  return true;
}

function equalInstances(a: object, b: object): boolean {
  if (a instanceof Date) return a.getTime() === (b as Date).getTime();
  if (a instanceof Map) return equalMaps(a, b as Map<unknown, unknown>);
  if (a instanceof Set) return equalSets(a, b as Set<unknown>);
  if (ArrayBuffer.isView(a)) return equalBytes(a, b as ArrayBufferView);
  if (a instanceof RegExp) return a.toString() === (b as RegExp).toString();
  const own = (a as { equals?: unknown }).equals;
  if (typeof own === "function") return Boolean(own.call(a, b));
  return equalFields(a as Record<string, unknown>, b as Record<string, unknown>);
}

function equalMaps(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    if (!b.has(key) || !deepEqual(value, b.get(key))) return false;
  }
  return true;
}

/** Members are compared by identity, as `Set` itself does. */
function equalSets(a: ReadonlySet<unknown>, b: ReadonlySet<unknown>): boolean {
  if (a.size !== b.size) return false;
  for (const member of a) if (!b.has(member)) return false;
  return true;
}

function equalBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  if (a.byteLength !== b.byteLength) return false;
  const left = new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
  const right = new Uint8Array(b.buffer, b.byteOffset, b.byteLength);
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false;
  return true;
}

/** Marks an equality that leaves out parts of the objects on purpose. */
const SELECTIVE: unique symbol = Symbol("krt.selective");

/** Equality of the listed parts only, each compared structurally. */
export function byFields<T>(fields: (object: T) => readonly unknown[]): Equals<T> {
  const equals: Equals<T> = (a, b) => a === b || equalArrays(fields(a), fields(b));
  return Object.assign(equals, { [SELECTIVE]: true });
}

/** Whether an equality is known to leave out parts of the objects on purpose. */
export function ignoresFields(equals: object): boolean {
  return SELECTIVE in equals;
}

/** The property path of the first difference, or `undefined` where {@link deepEqual} holds. */
export function firstDifference(a: unknown, b: unknown, path = ""): string | undefined {
  if (deepEqual(a, b)) return undefined;
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
