import {
  BigFloat,
  decodeTypeJson,
  encodeTypeJson,
  Mark,
  type Refinements,
  rangeOf,
  refine,
  type Type,
  Value,
} from "../../index.ts";

/**
 * How tests write values in JSON, independently of the codecs under test. The same notation is understood by the oracle
 * over the reference library. Types are in the JSON form of type constraints.
 */
export type Notation =
  | { readonly null: unknown }
  | { readonly unknown: unknown; readonly refine?: RefineNotation }
  | { readonly s: string }
  | { readonly b: boolean }
  /** Read as decimal text. In answers `bits` is the precision. */
  | { readonly n: string; readonly bits?: number }
  /** An integer of any size. */
  | { readonly i: string }
  /** The bits of a double, as 16 hexadecimal digits. */
  | { readonly d: string }
  | { readonly list: readonly Notation[]; readonly of: unknown }
  | { readonly set: readonly Notation[]; readonly of: unknown }
  | { readonly map: readonly EntryNotation[]; readonly of: unknown }
  | { readonly tuple: readonly Notation[] }
  | { readonly object: readonly EntryNotation[] }
  | { readonly marks: readonly string[]; readonly v: Notation };

export interface EntryNotation {
  readonly k: string;
  readonly v: Notation;
}

export interface RefineNotation {
  readonly notNull?: boolean;
  readonly prefix?: string;
  readonly min?: { readonly value: Notation; readonly inclusive: boolean };
  readonly max?: { readonly value: Notation; readonly inclusive: boolean };
  readonly minLength?: number;
  readonly maxLength?: number;
}

export function typeOfJson(json: unknown): Type {
  return decodeTypeJson(JSON.stringify(json));
}

export function typeToJson(type: Type): unknown {
  return JSON.parse(encodeTypeJson(type));
}

export function build(notation: Notation): Value {
  if ("marks" in notation) {
    return build(notation.v).mark(...notation.marks.map((mark) => Mark.of(mark)));
  }
  if ("null" in notation) return Value.null(typeOfJson(notation.null));
  if ("unknown" in notation) return buildUnknown(typeOfJson(notation.unknown), notation.refine);
  if ("s" in notation) return Value.string(notation.s);
  if ("b" in notation) return Value.bool(notation.b);
  if ("n" in notation) return Value.parseNumber(notation.n);
  if ("i" in notation) return Value.number(BigInt(notation.i));
  if ("d" in notation) return Value.number(BigFloat.fromNumber(doubleOfBits(notation.d)));
  if ("tuple" in notation) return Value.tuple(notation.tuple.map(build));
  if ("object" in notation) return Value.object(entriesOf(notation.object));
  const element = typeOfJson(notation.of);
  if ("list" in notation)
    return Value.list(notation.list.map(build), emptyOnly(notation.list, element));
  if ("set" in notation)
    return Value.set(notation.set.map(build), emptyOnly(notation.set, element));
  return Value.map(entriesOf(notation.map), emptyOnly(notation.map, element));
}

/** The element type is given for empty collections only; others have that of their elements. */
function emptyOnly(items: readonly unknown[], element: Type): Type | undefined {
  return items.length === 0 ? element : undefined;
}

function entriesOf(entries: readonly EntryNotation[]): [string, Value][] {
  return entries.map(({ k, v }) => [k, build(v)]);
}

function buildUnknown(type: Type, refinement: RefineNotation | undefined): Value {
  const unknown = Value.unknown(type);
  if (refinement === undefined) return unknown;
  const { min, max, prefix, ...rest } = refinement;
  const refinements: Refinements = {
    ...rest,
    ...(prefix === undefined ? {} : { fullPrefix: prefix }),
    ...(min === undefined ? {} : { min: { ...min, value: build(min.value) } }),
    ...(max === undefined ? {} : { max: { ...max, value: build(max.value) } }),
  };
  return refine(unknown, refinements);
}

export function doubleOfBits(hex: string): number {
  return Buffer.from(hex, "hex").readDoubleBE();
}

export function bitsOfDouble(double: number): string {
  const buffer = Buffer.alloc(8);
  buffer.writeDoubleBE(double);
  return buffer.toString("hex");
}

/** The value in the notation of answers: elements in the order of iteration, numbers with their precision. */
export function dump(value: Value): Notation {
  if (value.isMarked) {
    const [plain, marks] = value.unmark();
    return { marks: [...marks].map(String).sort(), v: dump(plain) };
  }
  const { type } = value;
  if (value.isNull) return { null: typeToJson(type) };
  if (!value.isKnown) {
    const refinement = dumpRange(value);
    const unknown = typeToJson(type);
    return Object.keys(refinement).length === 0 ? { unknown } : { unknown, refine: refinement };
  }
  switch (type.kind) {
    case "string":
      return { s: value.asString() };
    case "bool":
      return { b: value.asBoolean() };
    case "number":
      return dumpNumber(value.asBigFloat());
    case "list":
      return { list: value.elements().map(dump), of: typeToJson(type.element) };
    case "set":
      return { set: value.elements().map(dump), of: typeToJson(type.element) };
    case "map":
      return { map: dumpEntries(value), of: typeToJson(type.element) };
    case "tuple":
      return { tuple: value.elements().map(dump) };
    case "object":
      return { object: dumpEntries(value) };
    case "dynamic":
    case "capsule":
      throw new TypeError(`no notation for ${type.kind}`);
    default:
      throw new TypeError("unhandled type");
  }
}

function dumpNumber(number: BigFloat): Notation {
  return { n: number.text(), bits: number.precision };
}

function dumpEntries(value: Value): EntryNotation[] {
  return Array.from(value.entries(), ([k, v]) => ({ k, v: dump(v) }));
}

function dumpRange(value: Value): RefineNotation {
  const range = rangeOf(value);
  const bound = (end: typeof range.min): RefineNotation["min"] =>
    end === undefined ? undefined : { value: dumpNumber(end.value), inclusive: end.inclusive };
  const min = bound(range.min);
  const max = bound(range.max);
  return {
    ...(range.isNull === false ? { notNull: true } : {}),
    ...(range.prefix === "" ? {} : { prefix: range.prefix }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...(range.minLength === 0 ? {} : { minLength: range.minLength }),
    ...(range.maxLength === Infinity ? {} : { maxLength: range.maxLength }),
  };
}
