import { type BigFloat, Type, Value } from "@stackwright/cty";
import { ProviderFailure } from "./provider-failure.ts";

/**
 * A type of attributes, with its form in JavaScript. Both functions are for known values that are not null;
 * null and unknown are dealt with around them.
 */
export interface AttributeType<T> {
  readonly type: Type;
  fromValue(value: Value): T;
  toValue(content: T): Value;
}

/** The JavaScript form of an attribute type. */
export type ContentOf<A> = A extends AttributeType<infer T> ? T : never;

type Members = Readonly<Record<string, AttributeType<unknown>>>;
type ContentOfMembers<M extends Members> = { readonly [K in keyof M]: ContentOf<M[K]> | null };

const string: AttributeType<string> = {
  type: Type.string,
  fromValue: (value) => value.asString(),
  toValue: (content) => Value.string(content),
};

const bool: AttributeType<boolean> = {
  type: Type.bool,
  fromValue: (value) => value.asBoolean(),
  toValue: (content) => Value.bool(content),
};

/** Doubles. A number of the template that no double equals is refused, not rounded. */
const number: AttributeType<number> = {
  type: Type.number,
  fromValue: (value) => {
    const content = value.asNumber();
    if (!Number.isNaN(content) && Value.number(content).equals(value) === true) return content;
    throw new ProviderFailure(
      "Number out of range",
      "The number has more digits than can be kept.",
    );
  },
  toValue: (content) => Value.number(content),
};

/** Numbers with every digit that the template language keeps. */
const exactNumber: AttributeType<BigFloat> = {
  type: Type.number,
  fromValue: (value) => value.asBigFloat(),
  toValue: (content) => Value.number(content),
};

/** Any value at all, as it is. */
const any: AttributeType<Value> = {
  type: Type.dynamic,
  fromValue: (value) => value,
  toValue: (content) => content,
};

function nullable<T>(element: AttributeType<T>, value: Value): T | null {
  return value.isNull ? null : element.fromValue(value);
}

function fromNullable<T>(element: AttributeType<T>, content: T | null | undefined): Value {
  return content === null || content === undefined
    ? Value.null(element.type)
    : element.toValue(content);
}

function list<T>(element: AttributeType<T>): AttributeType<readonly (T | null)[]> {
  return {
    type: Type.list(element.type),
    fromValue: (value) => value.elements().map((item) => nullable(element, item)),
    toValue: (content) =>
      Value.list(
        content.map((item) => fromNullable(element, item)),
        element.type,
      ),
  };
}

function set<T>(element: AttributeType<T>): AttributeType<readonly (T | null)[]> {
  return {
    ...list(element),
    type: Type.set(element.type),
    toValue: (content) =>
      Value.set(
        content.map((item) => fromNullable(element, item)),
        element.type,
      ),
  };
}

function map<T>(element: AttributeType<T>): AttributeType<ReadonlyMap<string, T | null>> {
  return {
    type: Type.map(element.type),
    fromValue: (value) =>
      new Map([...value.entries()].map(([key, item]) => [key, nullable(element, item)])),
    toValue: (content) =>
      Value.map(
        [...content].map(([key, item]) => [key, fromNullable(element, item)] as const),
        element.type,
      ),
  };
}

function object<M extends Members>(members: M): AttributeType<ContentOfMembers<M>> {
  const names = Object.keys(members);
  const memberOf = (name: string) => members[name] ?? any;
  return {
    type: Type.object(names.map((name) => [name, memberOf(name).type] as const)),
    fromValue: (value) =>
      Object.fromEntries(
        [...value.entries()].map(([name, item]) => [name, nullable(memberOf(name), item)]),
      ) as ContentOfMembers<M>,
    toValue: (content) =>
      Value.object(
        names.map((name) => [name, fromNullable(memberOf(name), content[name])] as const),
      ),
  };
}

/** The types that attributes, parameters and results of a provider may have. */
export const types = { string, bool, number, exactNumber, any, list, set, map, object };
