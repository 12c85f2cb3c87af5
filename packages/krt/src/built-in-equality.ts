/** Compares two objects of the same built-in class. `inner` compares what they hold. */
type CompareBuiltIn = (a: never, b: never, inner: CompareInner) => boolean;

/** Compares two values, and the enumerable fields of two objects. */
export interface CompareInner {
  values(a: unknown, b: unknown): boolean;
  fields(a: object, b: object): boolean;
}

const TYPED_ARRAY: unknown = Object.getPrototypeOf(Uint8Array.prototype);

const ERRORS = [
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
  AggregateError,
];

/** How objects with state behind their fields are compared, by prototype. */
const BUILT_IN: ReadonlyMap<unknown, CompareBuiltIn> = new Map<unknown, CompareBuiltIn>([
  [Date.prototype, (a: Date, b: Date) => Object.is(a.getTime(), b.getTime())],
  [RegExp.prototype, equalPatterns],
  [Map.prototype, equalMaps],
  [Set.prototype, equalSets],
  [DataView.prototype, equalViews],
  [ArrayBuffer.prototype, equalBuffers],
  ...globalClass("SharedArrayBuffer", equalBuffers),
  ...globalClass("Buffer", equalViews),
  [URL.prototype, (a: URL, b: URL) => a.href === b.href],
  [URLSearchParams.prototype, equalEntries],
  [Headers.prototype, equalEntries],
  ...[Number, String, Boolean, Symbol, BigInt].map((wrapper): [unknown, CompareBuiltIn] => [
    wrapper.prototype,
    (a: object, b: object) => Object.is(a.valueOf(), b.valueOf()),
  ]),
  ...ERRORS.map((type): [unknown, CompareBuiltIn] => [type.prototype, equalErrors]),
  [DOMException.prototype, equalErrors],
]);

/** How objects with this prototype are compared, or `undefined` where it belongs to no known class. */
export function builtInComparison(prototype: unknown): CompareBuiltIn | undefined {
  const found = BUILT_IN.get(prototype);
  if (found !== undefined || typeof prototype !== "object" || prototype === null) return found;
  return Object.getPrototypeOf(prototype) === TYPED_ARRAY ? equalViews : undefined;
}

/** A class that not every place has: `Buffer` is Node's, and pages have `SharedArrayBuffer` only where they are isolated. */
function globalClass(
  name: "Buffer" | "SharedArrayBuffer",
  compare: CompareBuiltIn,
): [unknown, CompareBuiltIn][] {
  const known = (globalThis as { [N in typeof name]?: { readonly prototype: unknown } })[name];
  return known === undefined ? [] : [[known.prototype, compare]];
}

function equalPatterns(a: RegExp, b: RegExp): boolean {
  return a.source === b.source && a.flags === b.flags && a.lastIndex === b.lastIndex;
}

/** Keys are compared by identity, as `Map` itself does, values structurally. Order does not count. */
function equalMaps(
  a: ReadonlyMap<unknown, unknown>,
  b: ReadonlyMap<unknown, unknown>,
  inner: CompareInner,
): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    if (!b.has(key) || !inner.values(value, b.get(key))) return false;
  }
  return true;
}

/** Members are compared by identity, as `Set` itself does. Order does not count. */
function equalSets(a: ReadonlySet<unknown>, b: ReadonlySet<unknown>): boolean {
  if (a.size !== b.size) return false;
  for (const member of a) if (!b.has(member)) return false;
  return true;
}

function equalViews(a: ArrayBufferView, b: ArrayBufferView): boolean {
  return equalBytes(
    new Uint8Array(a.buffer, a.byteOffset, a.byteLength),
    new Uint8Array(b.buffer, b.byteOffset, b.byteLength),
  );
}

function equalBuffers(a: ArrayBufferLike, b: ArrayBufferLike): boolean {
  return equalBytes(new Uint8Array(a), new Uint8Array(b));
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function equalEntries(a: Headers | URLSearchParams, b: Headers | URLSearchParams): boolean {
  const rest = b.entries();
  for (const [name, value] of a) {
    const other = rest.next().value;
    if (other === undefined || other[0] !== name || other[1] !== value) return false;
  }
  return rest.next().done === true;
}

/** The stack is where an error was made, not what it says, and does not count. */
function equalErrors(a: Error, b: Error, inner: CompareInner): boolean {
  return (
    a.name === b.name &&
    a.message === b.message &&
    "cause" in a === "cause" in b &&
    inner.values(a.cause, b.cause) &&
    inner.values((a as AggregateError).errors, (b as AggregateError).errors) &&
    inner.fields(a, b)
  );
}
