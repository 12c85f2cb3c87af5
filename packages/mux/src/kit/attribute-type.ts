import { BigFloat, fromNative, type NativeInput, Type, Value } from "@stackwright/cty";
import {
  atElement,
  atIndex,
  atKey,
  atMember,
  ContentFailure,
  type ContentStep,
  convertPart,
  kindOf,
} from "./content-failure.ts";

/**
 * A type of attributes, with its form in JavaScript. Both functions are for known values that are not null;
 * null and unknown are dealt with around them.
 *
 * `T` is what provider code gets. `I` is what it may return: that, and other forms with the same meaning.
 */
export interface AttributeType<T, I = T> {
  readonly type: Type;
  /** @throws ProviderFailure where the value has no such form; it says which part */
  fromValue(value: Value): T;
  /** @throws ProviderFailure where the content is no value of the type; it says which part */
  toValue(content: I): Value;
}

/** The JavaScript form of an attribute type, as provider code gets it. */
export type ContentOf<A> = A extends AttributeType<infer T, infer _> ? T : never;

/** What provider code may give for an attribute type. */
export type InputOf<A> = A extends AttributeType<infer _, infer I> ? I : never;

type AnyType = AttributeType<unknown>;
type Members = Readonly<Record<string, AnyType>>;
type ContentOfMembers<M extends Members> = { readonly [K in keyof M]: ContentOf<M[K]> | null };
type InputOfMembers<M extends Members> = {
  readonly [K in keyof M]?: InputOf<M[K]> | null | undefined;
};
type Elements<I> = readonly (I | null)[];

const needed = (what: string, content: unknown) =>
  new ContentFailure(`${what} is needed, not ${kindOf(content)}`);

const string: AttributeType<string> = {
  type: Type.string,
  fromValue: (value) => value.asString(),
  toValue: (content) => {
    if (typeof content !== "string") throw needed("a string", content);
    return Value.string(content);
  },
};

const bool: AttributeType<boolean> = {
  type: Type.bool,
  fromValue: (value) => value.asBoolean(),
  toValue: (content) => {
    if (typeof content !== "boolean") throw needed("a boolean", content);
    return Value.bool(content);
  },
};

/** Doubles. A number of the template that no double equals is refused, not rounded. */
const number: AttributeType<number> = {
  type: Type.number,
  fromValue: (value) => {
    const content = value.asNumber();
    if (!Number.isNaN(content) && Value.number(content).equals(value) === true) return content;
    throw new ContentFailure("the number has more digits than types.number keeps");
  },
  toValue: (content) => {
    if (typeof content !== "number") throw needed("a number", content);
    return Value.number(content);
  },
};

/** Numbers with every digit that the template language keeps. */
const exactNumber: AttributeType<BigFloat, BigFloat | bigint | number> = {
  type: Type.number,
  fromValue: (value) => value.asBigFloat(),
  toValue: (content) => {
    const fits =
      typeof content === "number" || typeof content === "bigint" || content instanceof BigFloat;
    if (!fits) throw needed("a BigFloat, bigint or number", content);
    return Value.number(content);
  },
};

/** Any value at all, as it is. Plain data becomes the value of its own structure. */
const any: AttributeType<Value, NativeInput> = {
  type: Type.dynamic,
  fromValue: (value) => value,
  toValue: (content) => fromNative(content),
};

function nullable<T, I>(element: AttributeType<T, I>, value: Value): T | null {
  return value.isNull ? null : element.fromValue(value);
}

function fromNullable<T, I>(element: AttributeType<T, I>, content: I | null | undefined): Value {
  return content === null || content === undefined
    ? Value.null(element.type)
    : element.toValue(content);
}

function contents<T, I>(
  element: AttributeType<T, I>,
  value: Value,
  at: (index: number) => ContentStep,
): readonly (T | null)[] {
  return value
    .elements()
    .map((item, index) => convertPart(at(index), () => nullable(element, item)));
}

function values<T, I>(
  element: AttributeType<T, I>,
  items: readonly (I | null)[],
  at: (index: number) => ContentStep,
): readonly Value[] {
  return items.map((item, index) => convertPart(at(index), () => fromNullable(element, item)));
}

function list<T, I>(element: AttributeType<T, I>): AttributeType<Elements<T>, Elements<I>> {
  return {
    type: Type.list(element.type),
    fromValue: (value) => contents(element, value, atIndex),
    toValue: (content) => {
      if (!Array.isArray(content)) throw needed("an array", content);
      return Value.list(values(element, content, atIndex), element.type);
    },
  };
}

/** Without an order of its own: provider code gets an array, and may give an array or a `Set`. */
function set<T, I>(
  element: AttributeType<T, I>,
): AttributeType<Elements<T>, Elements<I> | ReadonlySet<I | null>> {
  return {
    type: Type.set(element.type),
    fromValue: (value) => contents(element, value, atElement),
    toValue: (content) => {
      if (!Array.isArray(content) && !(content instanceof Set)) {
        throw needed("an array or a Set", content);
      }
      return Value.set(values(element, [...content] as Elements<I>, atElement), element.type);
    },
  };
}

/** Provider code gets a `Map`, and may give a `Map` or a plain object, as JSON has it. */
function map<T, I>(
  element: AttributeType<T, I>,
): AttributeType<
  ReadonlyMap<string, T | null>,
  ReadonlyMap<string, I | null> | Readonly<Record<string, I | null>>
> {
  return {
    type: Type.map(element.type),
    fromValue: (value) =>
      new Map(
        [...value.entries()].map(([key, item]) => [
          key,
          convertPart(atKey(key), () => nullable(element, item)),
        ]),
      ),
    toValue: (content) =>
      Value.map(
        entriesOf(content).map(
          ([key, item]) =>
            [key, convertPart(atKey(key), () => fromNullable(element, item as I | null))] as const,
        ),
        element.type,
      ),
  };
}

function entriesOf(content: unknown): readonly (readonly [string, unknown])[] {
  if (!(content instanceof Map)) {
    if (!isPlain(content)) throw needed("a Map or a plain object", content);
    return Object.entries(content);
  }
  return [...(content as ReadonlyMap<unknown, unknown>)].map(([key, item]) => {
    if (typeof key !== "string") throw needed("a string as key", key);
    return [key, item] as const;
  });
}

function isPlain(content: unknown): content is Readonly<Record<string, unknown>> {
  if (typeof content !== "object" || content === null) return false;
  const prototype: unknown = Object.getPrototypeOf(content);
  return prototype === null || prototype === Object.prototype;
}

function hasMembers(content: unknown): boolean {
  if (typeof content !== "object" || content === null || Array.isArray(content)) return false;
  return !(content instanceof Map || content instanceof Set);
}

/** What is left out of an object that provider code gives is null. */
function object<M extends Members>(
  members: M,
): AttributeType<ContentOfMembers<M>, InputOfMembers<M>> {
  const names = Object.keys(members);
  const memberOf = (name: string) => members[name] ?? any;
  return {
    type: Type.object(names.map((name) => [name, memberOf(name).type] as const)),
    fromValue: (value) =>
      Object.fromEntries(
        [...value.entries()].map(([name, item]) => [
          name,
          convertPart(atMember(name), () => nullable(memberOf(name), item)),
        ]),
      ) as ContentOfMembers<M>,
    toValue: (content) => {
      if (!hasMembers(content)) throw needed("an object", content);
      return Value.object(
        names.map((name) => {
          const convert = () => fromNullable(memberOf(name), content[name]);
          return [name, convertPart(atMember(name), convert)] as const;
        }),
      );
    },
  };
}

/** The types that attributes, parameters and results of a provider may have. */
export const types = { string, bool, number, exactNumber, any, list, set, map, object };
