import { createHash } from "node:crypto";
import { CtyError, convert, type ObjectType, Path, Type, Value } from "@stackwright/cty";
import type { AttributeSchema, BlockSchema, NestedBlockSchema } from "@stackwright/mux/router";

/** How values are made that a provider would decide. */
interface MockedValues {
  /** Values by the name of the attribute, an object; undefined: all are generated. */
  readonly given: Value | undefined;
  /** Whether what is decided stays unknown, as it is before the apply. */
  readonly unknown: boolean;
  /** Makes texts: the same seed gives the same text at the same place. */
  readonly seed: string;
}

/** An object with values where the provider decides, and what is wrong with given ones. */
interface MockedObject {
  readonly value: Value;
  readonly problems: readonly string[];
}

/** Completes an object: what is computed and has no value gets a given or a generated one. */
export function mockComputed(
  block: BlockSchema,
  object: Value,
  values: MockedValues,
): MockedObject {
  const filler = new Filler(values);
  const value = filler.block(block, object, values.given, Path.root);
  return { value, problems: filler.problems };
}

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
const TEXT_LENGTH = 8;

class Filler {
  readonly problems: string[] = [];
  readonly #values: MockedValues;

  constructor(values: MockedValues) {
    this.#values = values;
  }

  block(schema: BlockSchema, object: Value, given: Value | undefined, at: Path): Value {
    if (object.isNull || !object.isKnown) return object;
    const members = [...object.entries()].map(([name, value]): [string, Value] => {
      const place = at.attribute(name);
      const attribute = schema.attributes.get(name);
      if (attribute !== undefined)
        return [name, this.#attribute(attribute, value, memberOf(given, name), place)];
      const nested = schema.blocks.get(name);
      return [
        name,
        nested === undefined ? value : this.#nested(nested, value, memberOf(given, name), place),
      ];
    });
    return Value.object(members);
  }

  #nested(
    { block }: Pick<NestedBlockSchema, "block">,
    value: Value,
    given: Value | undefined,
    at: Path,
  ): Value {
    return elementsOf(value, at, (element, place) => this.block(block, element, given, place));
  }

  #attribute(schema: AttributeSchema, value: Value, given: Value | undefined, at: Path): Value {
    const isOpen = value.isNull || !value.isKnown;
    if (isOpen && schema.computed && !schema.writeOnly)
      return this.#decided(schema.type, given, at);
    const { nested } = schema;
    if (nested === undefined || isOpen) return value;
    const block = { ...EMPTY, attributes: nested.attributes };
    return elementsOf(value, at, (element, place) => this.block(block, element, given, place));
  }

  /** What the provider would decide. */
  #decided(type: Type, given: Value | undefined, at: Path): Value {
    if (this.#values.unknown) return Value.unknown(type);
    if (given === undefined) return this.#generated(type, at);
    try {
      return convert(this.#completed(type, given, at), type);
    } catch (error) {
      if (!(error instanceof CtyError)) throw error;
      this.problems.push(`The value for ${at.toString()} does not fit its type: ${error.message}.`);
      return Value.unknown(type);
    }
  }

  /** Attributes of objects that are not given are generated. */
  #completed(type: Type, given: Value, at: Path): Value {
    if (given.isNull || !given.isKnown || type.kind !== "object") return given;
    if (given.type.kind !== "object" && given.type.kind !== "map") return given;
    const members = [...given.entries()].filter(([name]) => !type.has(name));
    for (const [name, inner] of attributesOf(type)) {
      const place = at.attribute(name);
      const own = memberOf(given, name);
      members.push([
        name,
        own === undefined ? this.#generated(inner, place) : this.#completed(inner, own, place),
      ]);
    }
    return Value.object(members);
  }

  #generated(type: Type, at: Path): Value {
    switch (type.kind) {
      case "string":
        return Value.string(this.#text(at));
      case "number":
        return Value.zero;
      case "bool":
        return Value.false;
      case "list":
        return Value.list([], type.element);
      case "set":
        return Value.set([], type.element);
      case "map":
        return Value.map([], type.element);
      case "object":
        return Value.object(
          attributesOf(type).map(([name, inner]) => [
            name,
            this.#generated(inner, at.attribute(name)),
          ]),
        );
      case "tuple":
      case "dynamic":
      case "capsule":
      default:
        return Value.null(type);
    }
  }

  #text(at: Path): string {
    const digest = createHash("sha256").update(`${this.#values.seed}\0${at.toString()}`).digest();
    return Array.from(digest.subarray(0, TEXT_LENGTH), (byte) => ALPHABET[byte % 36]).join("");
  }
}

const EMPTY: BlockSchema = {
  attributes: new Map(),
  blocks: new Map(),
  deprecated: false,
  description: "",
};

function attributesOf({ names, types }: ObjectType): [name: string, type: Type][] {
  return names.map((name, at) => [name, types[at] ?? Type.dynamic]);
}

/** The member of an object of given values. */
function memberOf(given: Value | undefined, name: string): Value | undefined {
  if (given === undefined || given.isNull || !given.isKnown) return undefined;
  if (given.type.kind !== "object" && given.type.kind !== "map") return undefined;
  for (const [key, value] of given.entries()) if (key === name) return value;
  return undefined;
}

/** The objects of an attribute or block: itself, or its elements. */
function elementsOf(value: Value, at: Path, inner: (element: Value, at: Path) => Value): Value {
  if (value.isNull || !value.isKnown) return value;
  const list = (): Value[] =>
    value.elements().map((element, index) => inner(element, at.index(index)));
  const { type } = value;
  switch (type.kind) {
    case "object":
      return inner(value, at);
    case "list":
      return value.size === 0 ? value : Value.list(list());
    case "tuple":
      return Value.tuple(list());
    case "set":
      return value.size === 0 ? value : Value.set(list());
    case "map": {
      if (value.size === 0) return value;
      const members = [...value.entries()].map(([key, element]): [string, Value] => [
        key,
        inner(element, at.index(key)),
      ]);
      return Value.map(members);
    }
    case "string":
    case "number":
    case "bool":
    case "dynamic":
    case "capsule":
    default:
      return value;
  }
}
