import type { BigFloat, NativeInput, Value } from "@stackwright/cty";
import { describe, expectTypeOf, it } from "vitest";
import {
  type ContentOf,
  computed,
  defineDataSource,
  defineFunction,
  defineResource,
  type HandlerResult,
  type InputOf,
  optional,
  type PartlyKnown,
  required,
  type StateOf,
  type StoredJson,
  types,
} from "./index.ts";

const attributes = {
  name: required(types.string),
  on: optional(types.bool),
  size: optional(types.number),
  exact: optional(types.exactNumber),
  list: optional(types.list(types.string)),
  set: optional(types.set(types.string)),
  tags: optional(types.map(types.string)),
  point: optional(types.object({ x: types.number, y: types.string })),
  nested: optional(types.map(types.list(types.object({ a: types.set(types.number) })))),
  thing: optional(types.any),
  id: computed(types.string),
};
type A = typeof attributes;

type Strings = readonly (string | null)[];
type Nested = ReadonlyMap<
  string,
  readonly ({ readonly a: readonly (number | null)[] | null } | null)[] | null
>;

describe("the JavaScript form of each type", () => {
  it("is what provider code gets", () => {
    expectTypeOf<StateOf<A>>().toEqualTypeOf<{
      readonly name: string;
      readonly on: boolean | null;
      readonly size: number | null;
      readonly exact: BigFloat | null;
      readonly list: Strings | null;
      readonly set: Strings | null;
      readonly tags: ReadonlyMap<string, string | null> | null;
      readonly point: { readonly x: number | null; readonly y: string | null } | null;
      readonly nested: Nested | null;
      readonly thing: Value | null;
      readonly id: string | null;
    }>();
    expectTypeOf<PartlyKnown<A>["name"]>().toEqualTypeOf<string | null | undefined>();
    expectTypeOf<PartlyKnown<A>["nested"]>().toEqualTypeOf<Nested | null | undefined>();
    expectTypeOf<ContentOf<A["tags"]["of"]>>().toEqualTypeOf<ReadonlyMap<string, string | null>>();
  });

  it("may be given back, and so may what says the same", () => {
    expectTypeOf<StateOf<A>>().toExtend<HandlerResult<A>>();
    expectTypeOf<InputOf<A["exact"]["of"]>>().toEqualTypeOf<BigFloat | bigint | number>();
    expectTypeOf<InputOf<A["thing"]["of"]>>().toEqualTypeOf<NativeInput>();
    expectTypeOf<{ tags: { k: string } }>().toExtend<HandlerResult<A>>();
    expectTypeOf<{ set: ReadonlySet<string> }>().toExtend<HandlerResult<A>>();
    expectTypeOf<{ point: { x: number } }>().toExtend<HandlerResult<A>>();
    expectTypeOf<{ nested: { k: { a: Set<number> }[] } }>().toExtend<HandlerResult<A>>();
    // What a plan has, it may hand on: what is undefined there counts as left out.
    expectTypeOf<PartlyKnown<A>>().toExtend<HandlerResult<A>>();
    expectTypeOf<{ tags: { k: number } }>().not.toExtend<HandlerResult<A>>();
    expectTypeOf<{ list: Set<string> }>().not.toExtend<HandlerResult<A>>();
    expectTypeOf<{ size: bigint }>().not.toExtend<HandlerResult<A>>();
  });
});

const rest = { create: () => ({}), delete: () => undefined };

describe("upgrade", () => {
  it("takes the line of the guide, whatever the attributes are", () => {
    defineResource({
      attributes: { ...attributes, mood: optional(types.string) },
      version: 1,
      upgrade: (stored) => ({ ...stored, mood: null }),
      ...rest,
    });
  });

  it("gets the forms of the attributes, and all of it as plain data", () => {
    defineResource({
      attributes,
      version: 1,
      upgrade: (stored, version, json) => {
        expectTypeOf(stored.name).toEqualTypeOf<string | null | undefined>();
        expectTypeOf(stored.tags).toEqualTypeOf<
          ReadonlyMap<string, string | null> | null | undefined
        >();
        expectTypeOf(version).toEqualTypeOf<number>();
        expectTypeOf(json).toEqualTypeOf<StoredJson>();
        // @ts-expect-error there is no such attribute any more
        void stored.label;
        return stored;
      },
      ...rest,
    });
  });

  it("refuses what does not fit", () => {
    defineResource({
      attributes,
      version: 1,
      // @ts-expect-error a map of strings is needed
      upgrade: (stored) => ({ ...stored, tags: 5 }),
      ...rest,
    });
  });
});

describe("results", () => {
  it("of data sources and functions take plain objects for maps", () => {
    defineDataSource({
      attributes: { tags: computed(types.map(types.string)) },
      read: () => ({ tags: { k: "v" } }),
    });
    defineFunction({
      parameters: [{ name: "tags", type: types.map(types.string) }],
      result: types.map(types.string),
      call: (tags) => {
        expectTypeOf(tags).toEqualTypeOf<ReadonlyMap<string, string | null>>();
        return { k: "v" };
      },
    });
  });
});
