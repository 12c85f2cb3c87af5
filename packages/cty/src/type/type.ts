import { CtyError } from "../errors.ts";
import { compareStrings, normalizeString } from "../text/strings.ts";
import { unreachable } from "../unreachable.ts";
import type { CapsuleOperations } from "./capsule.ts";

/**
 * How deeply types may be nested. A value is never nested more deeply than its type, so this one bound, checked where
 * types are built, keeps every recursion over types and values within the stack, also for hostile input.
 */
export const MAX_TYPE_DEPTH = 500;

/** The kinds of types. `dynamic` is the type that is not known yet, and "any type" in a constraint. */
export type TypeKind =
  | "string"
  | "number"
  | "bool"
  | "dynamic"
  | "list"
  | "set"
  | "map"
  | "object"
  | "tuple"
  | "capsule";

/**
 * A type, or a type constraint: a constraint is a type with `dynamic` or optional attributes somewhere in it. Types
 * are immutable; switch on `kind` to take one apart. Build them with the functions of the constant of the same name.
 */
export type Type =
  | PrimitiveType
  | DynamicType
  | ListType
  | SetType
  | MapType
  | ObjectType
  | TupleType
  | CapsuleType;

export type CollectionType = ListType | SetType | MapType;

abstract class BaseType {
  abstract readonly kind: TypeKind;
  /** Levels of nesting, 0 for types without parts. */
  readonly depth: number;
  /** Whether `dynamic` occurs in it, at any depth. */
  readonly hasDynamic: boolean;
  /** Whether an object type with optional attributes occurs in it, at any depth. */
  readonly hasOptional: boolean;
  #list: ListType | undefined;
  #set: SetType | undefined;
  #map: MapType | undefined;
  #hash: number | undefined;

  constructor(parts: readonly Type[], dynamic: boolean, optional: boolean) {
    let depth = -1;
    let hasDynamic = dynamic;
    let hasOptional = optional;
    for (const part of parts) {
      if (part.depth > depth) depth = part.depth;
      hasDynamic ||= part.hasDynamic;
      hasOptional ||= part.hasOptional;
    }
    this.depth = depth + 1;
    this.hasDynamic = hasDynamic;
    this.hasOptional = hasOptional;
    if (this.depth > MAX_TYPE_DEPTH) {
      throw new CtyError("CTY_TOO_DEEP", `types may be nested ${MAX_TYPE_DEPTH} levels deep`);
    }
  }

  /** The list type of an element type; always the same instance for one element type. */
  static listOf(element: Type): ListType {
    const base: BaseType = element;
    base.#list ??= new ListType(element);
    return base.#list;
  }

  /** The set type of an element type; always the same instance for one element type. */
  static setOf(element: Type): SetType {
    const base: BaseType = element;
    base.#set ??= new SetType(element);
    return base.#set;
  }

  /** The map type of an element type; always the same instance for one element type. */
  static mapOf(element: Type): MapType {
    const base: BaseType = element;
    base.#map ??= new MapType(element);
    return base.#map;
  }

  /** Whether the two are the same type, optional attributes included. Capsule types are compared by identity. */
  equals(this: Type, other: Type): boolean {
    return this === other || (this.hash === other.hash && sameType(this, other));
  }

  /** Equal types have equal hashes. Not stable between releases. */
  get hash(): number {
    this.#hash ??= hashType(this as unknown as Type);
    return this.#hash;
  }
}

/** `string`, `number` or `bool`. There is one instance of each. */
export class PrimitiveType extends BaseType {
  readonly kind: "string" | "number" | "bool";
  constructor(kind: "string" | "number" | "bool") {
    super([], false, false);
    this.kind = kind;
  }
}

/** The type of values whose type is not known, and the constraint that any type satisfies. */
export class DynamicType extends BaseType {
  readonly kind = "dynamic";
  constructor() {
    super([], true, false);
  }
}

/** An ordered sequence of elements of one type. */
export class ListType extends BaseType {
  readonly kind = "list";
  readonly element: Type;
  constructor(element: Type) {
    super([element], false, false);
    this.element = element;
  }
}

/** Distinct elements of one type, without positions. */
export class SetType extends BaseType {
  readonly kind = "set";
  readonly element: Type;
  constructor(element: Type) {
    super([element], false, false);
    this.element = element;
  }
}

/** Elements of one type under string keys. */
export class MapType extends BaseType {
  readonly kind = "map";
  readonly element: Type;
  constructor(element: Type) {
    super([element], false, false);
    this.element = element;
  }
}

/** A fixed sequence of elements, each of its own type. */
export class TupleType extends BaseType {
  readonly kind = "tuple";
  readonly elements: readonly Type[];
  constructor(elements: readonly Type[]) {
    super(elements, false, false);
    this.elements = elements;
  }
}

/** @internal The optional attributes of object types without any. */
export const NO_NAMES: ReadonlySet<string> = new Set();

/** Named attributes, each of its own type. A value has all of them, whether they are optional or not. */
export class ObjectType extends BaseType {
  readonly kind = "object";
  /** Attribute names in code-point order. */
  readonly names: readonly string[];
  /** Types of the attributes, in the order of `names`. */
  readonly types: readonly Type[];
  /** Attributes that a source of a conversion may lack. Means nothing outside of constraints. */
  readonly optional: ReadonlySet<string>;
  /** Created at the first access to an attribute: most object types only ever serve to name and compare. */
  #index: Map<string, number> | undefined;

  /** @internal Names must be normalised, distinct and sorted. */
  constructor(names: readonly string[], types: readonly Type[], optional: ReadonlySet<string>) {
    super(types, false, optional.size > 0);
    this.names = names;
    this.types = types;
    this.optional = optional;
  }

  /** Position in `names` and `types`, or undefined where there is no such attribute. */
  indexOf(name: string): number | undefined {
    this.#index ??= new Map(this.names.map((own, i) => [own, i]));
    return this.#index.get(name) ?? this.#index.get(normalizeString(name));
  }

  has(name: string): boolean {
    return this.indexOf(name) !== undefined;
  }

  /** Type of one attribute, or undefined where there is none of that name. */
  attribute(name: string): Type | undefined {
    const index = this.indexOf(name);
    return index === undefined ? undefined : this.types[index];
  }

  /** Names with their types, in code-point order of the names. */
  *attributes(): Generator<[name: string, type: Type]> {
    for (const [i, name] of this.names.entries()) {
      const type = this.types[i];
      if (type !== undefined) yield [name, type];
    }
  }
}

/** A type of the application for values that only the application understands. Equal only to itself. */
export class CapsuleType<T = unknown> extends BaseType {
  readonly kind = "capsule";
  readonly name: string;
  readonly operations: CapsuleOperations<T>;
  constructor(name: string, operations: CapsuleOperations<T>) {
    super([], false, false);
    this.name = name;
    this.operations = operations;
  }
}

function sameType(a: Type, b: Type): boolean {
  switch (a.kind) {
    case "string":
    case "number":
    case "bool":
    case "dynamic":
      return a.kind === b.kind;
    case "list":
    case "set":
    case "map":
      return a.kind === b.kind && a.element.equals(b.element);
    case "tuple":
      return b.kind === "tuple" && sameTypes(a.elements, b.elements);
    case "object":
      return (
        b.kind === "object" &&
        sameNames(a.names, b.names) &&
        a.optional.size === b.optional.size &&
        [...a.optional].every((name) => b.optional.has(name)) &&
        sameTypes(a.types, b.types)
      );
    case "capsule":
      return false;
    default:
      return unreachable(a);
  }
}

function sameTypes(a: readonly Type[], b: readonly Type[]): boolean {
  return a.length === b.length && a.every((type, i) => b[i]?.equals(type) === true);
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((name, i) => b[i] === name));
}

function hashType(type: Type): number {
  let hash = hashText(type.kind, 0x811c9dc5);
  switch (type.kind) {
    case "list":
    case "set":
    case "map":
      return mix(hash, type.element.hash);
    case "tuple":
      for (const element of type.elements) hash = mix(hash, element.hash);
      return hash;
    case "object":
      for (const [name, attribute] of type.attributes()) {
        hash = mix(hashText(name, hash), attribute.hash);
      }
      return mix(hash, type.optional.size);
    case "capsule":
      return hashText(type.name, hash);
    case "string":
    case "number":
    case "bool":
    case "dynamic":
      return hash;
    default:
      return unreachable(type);
  }
}

function hashText(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; i += 1) hash = mix(hash, text.charCodeAt(i));
  return hash;
}

function mix(hash: number, value: number): number {
  return Math.imul(hash ^ value, 0x01000193) >>> 0;
}

const STRING = new PrimitiveType("string");
const NUMBER = new PrimitiveType("number");
const BOOL = new PrimitiveType("bool");
const DYNAMIC = new DynamicType();
const EMPTY_TUPLE = new TupleType([]);
const EMPTY_OBJECT = new ObjectType([], [], NO_NAMES);

/** Options of an object type. */
export interface ObjectTypeOptions {
  /** Names of declared attributes that a source of a conversion may lack. @default none */
  readonly optional?: Iterable<string>;
}

function objectType(
  attributes: Readonly<Record<string, Type>> | Iterable<readonly [string, Type]>,
  options: ObjectTypeOptions = {},
): ObjectType {
  const given = Symbol.iterator in attributes ? attributes : Object.entries(attributes);
  const byName = new Map<string, Type>();
  for (const [name, type] of given) byName.set(normalizeString(name), type);
  const optional = new Set<string>();
  for (const name of options.optional ?? []) {
    const normal = normalizeString(name);
    if (!byName.has(normal)) {
      throw new CtyError("CTY_INVALID_TYPE", `optional attribute "${name}" is not declared`);
    }
    optional.add(normal);
  }
  if (byName.size === 0) return EMPTY_OBJECT;
  const names = [...byName.keys()].sort(compareStrings);
  const types = names.map((name) => byName.get(name) ?? DYNAMIC);
  return new ObjectType(names, types, optional.size === 0 ? NO_NAMES : optional);
}

/** Constants and functions that build types. All throw `CTY_TOO_DEEP` beyond {@link MAX_TYPE_DEPTH} levels. */
export const Type = {
  string: STRING,
  number: NUMBER,
  bool: BOOL,
  dynamic: DYNAMIC,
  emptyTuple: EMPTY_TUPLE,
  emptyObject: EMPTY_OBJECT,
  list: (element: Type): ListType => BaseType.listOf(element),
  set: (element: Type): SetType => BaseType.setOf(element),
  map: (element: Type): MapType => BaseType.mapOf(element),
  tuple: (elements: readonly Type[]): TupleType =>
    elements.length === 0 ? EMPTY_TUPLE : new TupleType([...elements]),
  /** Attribute names are normalised. Throws `CTY_INVALID_TYPE` for an optional name that is not declared. */
  object: objectType,
  /** A new capsule type, different from every other, also from one of the same name. */
  capsule: <T>(name: string, operations: CapsuleOperations<T> = {}): CapsuleType<T> =>
    new CapsuleType<T>(name, operations),
} as const;

/** `string`, `number` or `bool`. */
export function isPrimitiveType(type: Type): type is PrimitiveType {
  return type.kind === "string" || type.kind === "number" || type.kind === "bool";
}

/** List, set or map. */
export function isCollectionType(type: Type): type is CollectionType {
  return type.kind === "list" || type.kind === "set" || type.kind === "map";
}

/** The type with every optional attribute made a plain one, at all depths. */
export function withoutOptionalAttributes(type: Type): Type {
  if (!type.hasOptional) return type;
  switch (type.kind) {
    case "list":
      return Type.list(withoutOptionalAttributes(type.element));
    case "set":
      return Type.set(withoutOptionalAttributes(type.element));
    case "map":
      return Type.map(withoutOptionalAttributes(type.element));
    case "tuple":
      return new TupleType(type.elements.map(withoutOptionalAttributes));
    case "object":
      return new ObjectType(type.names, type.types.map(withoutOptionalAttributes), NO_NAMES);
    case "string":
    case "number":
    case "bool":
    case "dynamic":
    case "capsule":
      return type;
    default:
      return unreachable(type);
  }
}
