import fc from "fast-check";
import { Type } from "../../index.ts";
import {
  bitsOfDouble,
  type EntryNotation,
  type Notation,
  type RefineNotation,
  typeToJson,
} from "./notation.ts";

/** What generated types and values may contain. */
interface ValueOptions {
  /** How deeply compounds are nested. @default 3 */
  readonly depth?: number;
  /** Whether there are unknown values. @default true */
  readonly unknowns?: boolean;
  /** Whether there are nulls. @default true */
  readonly nulls?: boolean;
  /** Whether there are marks. @default false */
  readonly marks?: boolean;
  /** Whether types may be open somewhere. @default false */
  readonly open?: boolean;
}

const CHARACTERS = [
  ...Array.from('abcxyzABC0129_-./ "\\<>&{}$%~\n\t\u0001\u007f'),
  ...Array.from("äöéñßçøŁ日本語한글क़かー🙂👩‍💻🇩🇪"),
  "e\u0301",
  "o\u0308\u0323",
  "\u1100\u1161",
  "\u212b",
  "\u2028",
  "\ufb01",
  "\ue000",
  "\u{10ffff}",
  "=",
];

export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[a-z]{0,6}$/) },
  {
    weight: 3,
    arbitrary: fc
      .array(fc.constantFrom(...CHARACTERS), { maxLength: 8 })
      .map((parts) => parts.join("")),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("", "true", "false", "1", "0", "1.5", "-7", "1e3", "True", "Inf"),
  },
);

const digits = fc.stringMatching(/^[1-9][0-9]{0,24}$/);

/** Numbers of every kind of payload: small and large integers, decimal text, doubles. */
export const number: fc.Arbitrary<Notation> = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -100, max: 100 }).map((i) => ({ i: String(i) })) },
  { weight: 2, arbitrary: fc.maxSafeInteger().map((i) => ({ i: String(i) })) },
  {
    weight: 2,
    arbitrary: fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map((i) => ({ i: String(i) })),
  },
  { weight: 4, arbitrary: decimalText().map((n) => ({ n })) },
  {
    weight: 2,
    arbitrary: fc.double({ noNaN: true }).map((d) => ({ d: bitsOfDouble(d) })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.integer({ min: -4096, max: 4096 }), fc.integer({ min: 0, max: 12 }))
      .map(([m, e]) => ({ d: bitsOfDouble(m / 2 ** e) })),
  },
);

export function decimalText(): fc.Arbitrary<string> {
  return fc
    .record({
      sign: fc.constantFrom("", "", "-", "+"),
      whole: fc.oneof(digits, fc.constant("0")),
      fraction: fc.option(fc.stringMatching(/^[0-9]{1,30}$/), { nil: undefined }),
      exponent: fc.option(fc.integer({ min: -320, max: 320 }), { nil: undefined, freq: 4 }),
    })
    .map(({ sign, whole, fraction, exponent }) => {
      const point = fraction === undefined ? "" : `.${fraction}`;
      return `${sign}${whole}${point}${exponent === undefined ? "" : `e${exponent}`}`;
    });
}

const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", "name", "id", "ä", "x-y", "Z"), {
  maxLength: 4,
});

/** Types without optional attributes. */
export function type(options: ValueOptions = {}): fc.Arbitrary<Type> {
  return typeWithin(options.depth ?? 3, options.open ?? false);
}

function typeWithin(depth: number, open: boolean): fc.Arbitrary<Type> {
  const leaves = [Type.string, Type.number, Type.bool, Type.string, Type.number];
  const leaf = fc.constantFrom<Type>(...leaves, ...(open ? [Type.dynamic] : []));
  if (depth === 0) return leaf;
  const inner = typeWithin(depth - 1, open);
  return fc.oneof(
    { weight: 3, arbitrary: leaf },
    { weight: 1, arbitrary: inner.map((element) => Type.list(element)) },
    { weight: 1, arbitrary: inner.map((element) => Type.set(element)) },
    { weight: 1, arbitrary: inner.map((element) => Type.map(element)) },
    { weight: 1, arbitrary: fc.array(inner, { maxLength: 3 }).map((parts) => Type.tuple(parts)) },
    { weight: 1, arbitrary: objectWithin(inner, false) },
  );
}

function objectWithin(inner: fc.Arbitrary<Type>, optional: boolean): fc.Arbitrary<Type> {
  return names.chain((keys) =>
    fc
      .tuple(
        fc.tuple(...keys.map(() => inner)),
        optional ? fc.subarray(keys) : fc.constant<string[]>([]),
      )
      .map(([types, optionals]) =>
        Type.object(
          keys.map((key, i) => [key, types[i] ?? Type.string] as const),
          { optional: optionals },
        ),
      ),
  );
}

/** Types as constraints: with open parts and optional attributes. */
export function constraint(depth = 2): fc.Arbitrary<Type> {
  const inner =
    depth === 0 ? typeWithin(0, true) : fc.oneof(typeWithin(0, true), constraintCompound(depth));
  return inner;
}

/** Constraints that a value of the type has a fair chance to be convertible to. */
export function relatedConstraint(t: Type): fc.Arbitrary<Type> {
  const same = fc.constant(t);
  const open = fc.constant<Type>(Type.dynamic);
  switch (t.kind) {
    case "string":
    case "number":
    case "bool":
      return fc.oneof(
        same,
        { weight: 2, arbitrary: fc.constantFrom<Type>(Type.string, Type.number, Type.bool) },
        open,
      );
    case "list":
    case "set":
      return relatedConstraint(t.element).chain((element) =>
        fc.constantFrom<Type>(Type.list(element), Type.set(element)),
      );
    case "map":
      return fc.oneof(
        relatedConstraint(t.element).map((element) => Type.map(element)),
        names.chain((keys) => objectOf(keys, () => relatedConstraint(t.element))),
      );
    case "tuple":
      return relatedTuple(t.elements);
    case "object": {
      const parts = fc.tuple(...t.types.map(relatedConstraint));
      const map = parts.chain((types) =>
        fc.constantFrom<Type>(...types, Type.string, Type.dynamic),
      );
      const keys = fc
        .tuple(fc.subarray([...t.names]), names)
        .map(([kept, more]) => [...new Set([...kept, ...more])]);
      const object = keys.chain((all) =>
        objectOf(all, (key) => relatedConstraint(t.attribute(key) ?? Type.string)),
      );
      return fc.oneof(
        map.map((element) => Type.map(element)),
        { weight: 2, arbitrary: object },
      );
    }
    case "dynamic":
    case "capsule":
      return constraint(1);
    default:
      throw new TypeError("unhandled type");
  }
}

function relatedTuple(elements: readonly Type[]): fc.Arbitrary<Type> {
  const parts = fc.tuple(...elements.map(relatedConstraint));
  const element = parts.chain((types) =>
    fc.constantFrom<Type>(...types, Type.string, Type.dynamic),
  );
  return fc.oneof(
    parts.map((types) => Type.tuple(types)),
    element.map((e) => Type.list(e)),
    element.map((e) => Type.set(e)),
  );
}

function objectOf(
  keys: readonly string[],
  typeOf: (key: string) => fc.Arbitrary<Type>,
): fc.Arbitrary<Type> {
  return fc.tuple(fc.tuple(...keys.map(typeOf)), fc.subarray([...keys])).map(([types, optional]) =>
    Type.object(
      keys.map((key, i) => [key, types[i] ?? Type.string] as const),
      { optional },
    ),
  );
}

function constraintCompound(depth: number): fc.Arbitrary<Type> {
  const inner = constraint(depth - 1);
  return fc.oneof(
    inner.map((element) => Type.list(element)),
    inner.map((element) => Type.set(element)),
    inner.map((element) => Type.map(element)),
    fc.array(inner, { maxLength: 3 }).map((parts) => Type.tuple(parts)),
    objectWithin(inner, true),
  );
}

/** A value of a random type. */
export function value(options: ValueOptions = {}): fc.Arbitrary<Notation> {
  return type(options).chain((t) => valueOf(t, options));
}

/** A value of the given type; where that is open, of any type that fits and is the same for all elements. */
export function valueOf(t: Type, options: ValueOptions = {}): fc.Arbitrary<Notation> {
  const plain = known(t, options);
  const choices: fc.WeightedArbitrary<Notation>[] = [{ weight: 12, arbitrary: plain }];
  if (options.nulls ?? true)
    choices.push({ weight: 1, arbitrary: fc.constant({ null: typeToJson(t) }) });
  if (options.unknowns ?? true) choices.push({ weight: 1, arbitrary: unknown(t) });
  const any = fc.oneof(...choices);
  if (options.marks !== true) return any;
  const mark = fc.uniqueArray(fc.constantFrom("sensitive", "ephemeral", "other"), { minLength: 1 });
  return fc.oneof(
    { weight: 6, arbitrary: any },
    { weight: 1, arbitrary: fc.tuple(mark, any).map(([marks, v]) => ({ marks, v })) },
  );
}

function known(t: Type, options: ValueOptions): fc.Arbitrary<Notation> {
  switch (t.kind) {
    case "string":
      return text.map((s) => ({ s }));
    case "number":
      return number;
    case "bool":
      return fc.boolean().map((b) => ({ b }));
    case "list":
      return elements(t.element, options).map((list) => ({ list, of: typeToJson(t.element) }));
    case "set":
      return elements(t.element, options).map((set) => ({ set, of: typeToJson(t.element) }));
    case "map":
      return fc
        .uniqueArray(text, { maxLength: 4, selector: (key) => key.normalize("NFC") })
        .chain((keys) => entries(keys, () => t.element, options))
        .map((map) => ({ map, of: typeToJson(t.element) }));
    case "tuple":
      return fc
        .tuple(...t.elements.map((element) => valueOf(element, options)))
        .map((tuple) => ({ tuple }));
    case "object":
      return entries(t.names, (name) => t.attribute(name) ?? Type.string, options).map(
        (object) => ({
          object,
        }),
      );
    case "dynamic":
      return fc.constant({ unknown: "dynamic" });
    case "capsule":
      throw new TypeError("capsules have no notation");
    default:
      throw new TypeError("unhandled type");
  }
}

function elements(element: Type, options: ValueOptions): fc.Arbitrary<Notation[]> {
  return fc.array(valueOf(element, options), { maxLength: 5 });
}

function entries(
  keys: readonly string[],
  typeOf: (key: string) => Type,
  options: ValueOptions,
): fc.Arbitrary<EntryNotation[]> {
  return fc
    .tuple(...keys.map((key) => valueOf(typeOf(key), options)))
    .map((values) => keys.map((k, i) => ({ k, v: values[i] ?? { b: false } })));
}

/** An unknown with random refinements that fit its type, do not contradict each other, and say something. */
function unknown(t: Type): fc.Arbitrary<Notation> {
  const json = typeToJson(t);
  const plain = fc.constant<Notation>({ unknown: json });
  if (t.kind === "dynamic") return plain;
  return fc.tuple(fc.boolean(), statements(t)).map(([notNull, stated]): Notation => {
    const refine = { ...(notNull ? { notNull } : {}), ...stated };
    return Object.keys(refine).length === 0 ? { unknown: json } : { unknown: json, refine };
  });
}

function statements(t: Type): fc.Arbitrary<RefineNotation> {
  if (t.kind === "string") return text.map((prefix) => (prefix === "" ? {} : { prefix }));
  if (t.kind === "number") {
    const end = fc.option(fc.tuple(fc.integer({ min: 0, max: 50 }), fc.boolean()), {
      nil: undefined,
    });
    return fc.tuple(end, end).map(([low, high]) => ({
      ...(low && { min: { value: { i: String(low[0] - 60) }, inclusive: low[1] } }),
      ...(high && { max: { value: { i: String(high[0]) }, inclusive: high[1] } }),
    }));
  }
  if (t.kind === "list" || t.kind === "set" || t.kind === "map") {
    return fc
      .tuple(fc.integer({ min: 0, max: 3 }), fc.option(fc.integer({ min: 0, max: 3 })))
      .map(([minLength, more]) => ({
        ...(minLength > 0 && { minLength }),
        ...(more !== null && { maxLength: minLength + more }),
      }));
  }
  return fc.constant({});
}
