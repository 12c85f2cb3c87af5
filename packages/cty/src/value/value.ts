import { CtyError } from "../errors.ts";
import { BigFloat } from "../number/big-float.ts";
import {
  bigIntToPayload,
  compactNumber,
  expandNumber,
  numberToPayload,
  parseNumberPayload,
  toSafeInteger,
} from "../number/number-payload.ts";
import { normalizeString } from "../text/strings.ts";
import { typeName } from "../type/names.ts";
import {
  type CapsuleType,
  NO_NAMES,
  ObjectType,
  Type,
  withoutOptionalAttributes,
} from "../type/type.ts";
import { unreachable } from "../unreachable.ts";
import { equalPayloads, identicalPayloads } from "./equality.ts";
import { type Mark, Marks } from "./marks.ts";
import { commonElementType, sortedEntries } from "./parts.ts";
import {
  Encapsulated,
  Entries,
  HAS_MARKS,
  HAS_UNKNOWN,
  HAS_UNKNOWN_TYPE,
  isNumberPayload,
  listPayload,
  Marked,
  mapPayload,
  markPayload,
  type Payload,
  payloadFlags,
  payloadMarks,
  Sequence,
  SetElements,
  structurePayload,
  Unknown,
  unmarkedPayload,
} from "./payload.ts";
import { setPayload } from "./set-elements.ts";
import { stripAllMarks } from "./strip-marks.ts";

/** What an object or a map is made of: a record, a Map, or any other pairs. Of equal keys the last one counts. */
export type ValueEntries = Readonly<Record<string, Value>> | Iterable<readonly [string, Value]>;

/**
 * An immutable value with its type. It may be null, unknown, or marked.
 *
 * The methods of a value take it apart for use outside of the value system: those that return its content throw
 * `CTY_MARKED`, `CTY_UNKNOWN` or `CTY_NULL` instead of losing a mark or making something up. What a language does with
 * values, and what therefore has to carry unknowns and marks along, are functions of the package (`add`, `equal`,
 * `index`, ...).
 */
export class Value {
  static readonly true = new Value(Type.bool, true);
  static readonly false = new Value(Type.bool, false);
  static readonly zero = new Value(Type.number, 0);
  static readonly emptyTuple = new Value(Type.emptyTuple, new Sequence([], 0));
  static readonly emptyObject = new Value(Type.emptyObject, new Sequence([], 0));
  static readonly positiveInfinity = new Value(Type.number, BigFloat.positiveInfinity);
  static readonly negativeInfinity = new Value(Type.number, BigFloat.negativeInfinity);
  /** The value of which nothing is known, not even the type. */
  static readonly dynamic = new Value(Type.dynamic, Unknown.plain);

  readonly type: Type;
  readonly #payload: Payload;

  /** @internal Use the static functions. */
  constructor(type: Type, payload: Payload) {
    this.type = type;
    this.#payload = payload;
  }

  /** @internal The representation, which only this package understands. */
  static payload(value: Value): Payload {
    return value.#payload;
  }

  /** The string in normalisation form C; a lone surrogate becomes U+FFFD. */
  static string(text: string): Value {
    return new Value(Type.string, normalizeString(text));
  }

  static bool(truth: boolean): Value {
    return truth ? Value.true : Value.false;
  }

  /**
   * A number. Safe integers and bigints are integers of at least 64 bits, other JavaScript numbers are doubles, with
   * the 53 bits that doubles have. Throws `CTY_NOT_A_NUMBER` for NaN. For decimal text use {@link parseNumber}.
   */
  static number(number: number | bigint | BigFloat): Value {
    if (typeof number === "number") return new Value(Type.number, numberToPayload(number));
    if (typeof number === "bigint") return new Value(Type.number, bigIntToPayload(number));
    return new Value(Type.number, compactNumber(number));
  }

  /** The number that a decimal text says, with 512 bits. Throws `CTY_NUMBER_SYNTAX` or `CTY_NUMBER_RANGE`. */
  static parseNumber(text: string): Value {
    const payload = parseNumberPayload(text);
    if (payload === undefined) throw new CtyError("CTY_NUMBER_SYNTAX", "the text is not a number");
    return new Value(Type.number, payload);
  }

  /** The null of a type. */
  static null(type: Type): Value {
    return new Value(withoutOptionalAttributes(type), null);
  }

  /** A value that is not known yet; of type `dynamic` it is {@link Value.dynamic}. */
  static unknown(type: Type): Value {
    if (type.kind === "dynamic") return Value.dynamic;
    return new Value(withoutOptionalAttributes(type), Unknown.plain);
  }

  /**
   * A list. All elements must be of one type; elements of type `dynamic` (null or unknown) take the type of the others.
   * An empty list needs `element`. Throws `CTY_INVALID_VALUE`.
   */
  static list(values: readonly Value[], element?: Type): Value {
    const type = commonElementType("list", values, element);
    return new Value(
      Type.list(type),
      listPayload(
        type,
        values.map((value) => value.#payload),
      ),
    );
  }

  /**
   * A set, duplicates dropped. Types as for {@link list}. A set holds no marked elements: marks of the elements, at any
   * depth, become marks of the set.
   */
  static set(values: readonly Value[], element?: Type): Value {
    const type = commonElementType("set", values, element);
    const [payloads, marks] = stripAllMarks(values.map((value) => value.#payload));
    return new Value(Type.set(type), markPayload(setPayload(type, payloads), marks));
  }

  /** A map. Types as for {@link list}; keys are normalised. */
  static map(entries: ValueEntries, element?: Type): Value {
    const { keys, values } = sortedEntries(entries);
    const type = commonElementType("map", values, element);
    const payloads = new Map<string, Payload>();
    for (const [i, value] of values.entries()) payloads.set(keys[i] ?? "", value.#payload);
    return new Value(Type.map(type), mapPayload(type, payloads));
  }

  static tuple(values: readonly Value[]): Value {
    if (values.length === 0) return Value.emptyTuple;
    const types = values.map((value) => value.type);
    return new Value(
      Type.tuple(types),
      structurePayload(
        types,
        values.map((value) => value.#payload),
      ),
    );
  }

  /** An object; its type follows from the attributes. Names are normalised. */
  static object(attributes: ValueEntries): Value {
    const { keys, values } = sortedEntries(attributes);
    if (keys.length === 0) return Value.emptyObject;
    const types = values.map((value) => value.type);
    const payloads = values.map((value) => value.#payload);
    const type = new ObjectType(keys, types, NO_NAMES);
    return new Value(type, structurePayload(types, payloads));
  }

  /** An object of a known type, from its attributes in the order of `type.names`, each of its attribute's type. */
  static objectOf(type: ObjectType, attributes: readonly Value[]): Value {
    const fits =
      attributes.length === type.names.length &&
      attributes.every((value, i) => type.types[i]?.equals(value.type) === true);
    if (!fits) throw new CtyError("CTY_INVALID_VALUE", "the attributes do not fit the object type");
    return new Value(
      type,
      structurePayload(
        type.types,
        attributes.map((value) => value.#payload),
      ),
    );
  }

  static capsule<T>(type: CapsuleType<T>, content: T): Value {
    return new Value(type, new Encapsulated(content));
  }

  get isNull(): boolean {
    return unmarkedPayload(this.#payload) === null;
  }

  /** Whether the value itself is known; parts of it may still be unknown. */
  get isKnown(): boolean {
    return !(unmarkedPayload(this.#payload) instanceof Unknown);
  }

  /** Whether the value and all its parts are known. Constant time. */
  get isWhollyKnown(): boolean {
    return (payloadFlags(this.type, this.#payload) & HAS_UNKNOWN) === 0;
  }

  /** Whether no part is an unknown whose type is open. Constant time. */
  get hasWhollyKnownType(): boolean {
    return (payloadFlags(this.type, this.#payload) & HAS_UNKNOWN_TYPE) === 0;
  }

  /** Whether the value itself carries a mark. */
  get isMarked(): boolean {
    return this.#payload instanceof Marked;
  }

  /** Whether the value or any part of it carries a mark. Constant time. */
  get containsMarks(): boolean {
    return (payloadFlags(this.type, this.#payload) & HAS_MARKS) !== 0;
  }

  /** The marks of the value itself, not of its parts. */
  get marks(): Marks {
    return payloadMarks(this.#payload);
  }

  hasMark(mark: Mark): boolean {
    return this.marks.has(mark);
  }

  /** The value with more marks. */
  mark(...marks: readonly Mark[]): Value {
    return this.withMarks(Marks.from(marks));
  }

  /** The value with more marks. */
  withMarks(marks: Marks): Value {
    const payload = markPayload(this.#payload, marks);
    return payload === this.#payload ? this : new Value(this.type, payload);
  }

  /** The value with the marks of other values added, not of their parts. */
  withMarksOf(...sources: readonly Value[]): Value {
    return this.withMarks(sources.reduce((marks, source) => marks.union(source.marks), Marks.none));
  }

  /** The value without its own marks, and the marks. Parts keep theirs. */
  unmark(): readonly [value: Value, marks: Marks] {
    const payload = this.#payload;
    if (!(payload instanceof Marked)) return [this, Marks.none];
    return [new Value(this.type, payload.inner), payload.marks];
  }

  /** Whether the two are the same in every respect: type, content, unknowns with their refinements, and marks. */
  rawEquals(other: Value): boolean {
    if (this === other) return true;
    if (!this.type.equals(other.type)) return false;
    return identicalPayloads(this.type, this.#payload, other.#payload);
  }

  /**
   * Whether the two are equal as the language sees it, or undefined where that is not known yet. Throws `CTY_MARKED`;
   * the function `equal` is the operation that carries marks along.
   */
  equals(other: Value): boolean | undefined {
    if (this.containsMarks || other.containsMarks) throw marked();
    return equalPayloads(this.#payload, this.type, other.#payload, other.type);
  }

  /** Content of a string. */
  asString(): string {
    const content = this.#content("string");
    return typeof content === "string" ? content : "";
  }

  asBoolean(): boolean {
    return this.#content("bool") === true;
  }

  /** Content of a number, exact. */
  asBigFloat(): BigFloat {
    const content = this.#content("number");
    return isNumberPayload(content) ? expandNumber(content) : BigFloat.fromNumber(0);
  }

  /** Content of a number as the nearest double. */
  asNumber(): number {
    const content = this.#content("number");
    if (typeof content === "number") return content;
    return content instanceof BigFloat ? content.toNumber() : 0;
  }

  /** Content of a whole number between -(2^53) and 2^53. Throws `CTY_NUMBER_RANGE` for others. */
  asInteger(): number {
    const content = this.#content("number");
    const integer = isNumberPayload(content) ? toSafeInteger(content) : undefined;
    if (integer === undefined) {
      throw new CtyError("CTY_NUMBER_RANGE", "a whole number of at most 53 bits is required");
    }
    return integer;
  }

  /** Content of a capsule. */
  asCapsule<T>(type: CapsuleType<T>): T {
    const content = this.#content("capsule");
    if (this.type !== type) throw wrongType(type.name, this.type);
    // The identity of the type vouches for what is inside.
    return (content as Encapsulated).content as T;
  }

  /** Number of elements or attributes. For a set with unknown elements, the number if none of them coincide. */
  get size(): number {
    const content = this.#content("list", "set", "map", "tuple", "object");
    if (content instanceof Entries) return content.map.size;
    return content instanceof Sequence || content instanceof SetElements ? content.items.length : 0;
  }

  /** Elements of a list, set, map or tuple, or attributes of an object, in the order of iteration. */
  elements(): Value[] {
    const content = this.#content("list", "set", "map", "tuple", "object");
    const { type } = this;
    if (content instanceof Entries) {
      return [...content.map.values()].map((item) => new Value(elementType(type, 0), item));
    }
    if (!(content instanceof Sequence || content instanceof SetElements)) return [];
    return content.items.map((item, i) => new Value(elementType(type, i), item));
  }

  /** Keys with elements of a map, or names with attributes of an object, in code-point order. */
  *entries(): Generator<[key: string, value: Value]> {
    const content = this.#content("map", "object");
    const { type } = this;
    if (content instanceof Entries) {
      for (const [key, item] of content.map) yield [key, new Value(elementType(type, 0), item)];
    } else if (content instanceof Sequence && type.kind === "object") {
      for (const [i, name] of type.names.entries()) {
        yield [name, new Value(elementType(type, i), content.items[i] ?? null)];
      }
    }
  }

  /** The known, unmarked, non-null content, or the error that says why there is none. */
  #content(...kinds: readonly Type["kind"][]): Exclude<Payload, null | Unknown | Marked> {
    const payload = this.#payload;
    if (payload instanceof Marked) throw marked();
    if (!kinds.includes(this.type.kind)) throw wrongType(kinds.join(", "), this.type);
    if (payload instanceof Unknown) throw new CtyError("CTY_UNKNOWN", "the value is not known yet");
    if (payload === null) throw new CtyError("CTY_NULL", "the value is null");
    return payload;
  }
}

function elementType(type: Type, index: number): Type {
  switch (type.kind) {
    case "list":
    case "set":
    case "map":
      return type.element;
    case "tuple":
      return type.elements[index] ?? Type.dynamic;
    case "object":
      return type.types[index] ?? Type.dynamic;
    case "string":
    case "number":
    case "bool":
    case "dynamic":
    case "capsule":
      return Type.dynamic;
    default:
      return unreachable(type);
  }
}

function marked(): CtyError {
  return new CtyError(
    "CTY_MARKED",
    "the value is marked; take the marks off before using its content",
  );
}

function wrongType(expected: string, actual: Type): CtyError {
  return new CtyError("CTY_WRONG_TYPE", `expected ${expected}, got ${typeName(actual)}`);
}
