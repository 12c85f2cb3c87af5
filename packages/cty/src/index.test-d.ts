import { describe, expectTypeOf, it } from "vitest";
import {
  type CapsuleType,
  type ListType,
  type Mark,
  type Marks,
  type Native,
  type ObjectType,
  Type,
  toNative,
  unify,
  Value,
} from "./index.ts";

describe("types narrow by kind", () => {
  it("in conditions", () => {
    const inspect = (type: Type): Type | readonly string[] | undefined => {
      if (type.kind === "list") {
        expectTypeOf(type).toEqualTypeOf<ListType>();
        return type.element;
      }
      if (type.kind !== "object") return undefined;
      expectTypeOf(type).toEqualTypeOf<ObjectType>();
      return type.names;
    };
    expectTypeOf(inspect).returns.toEqualTypeOf<Type | readonly string[] | undefined>();
  });

  it("as built", () => {
    expectTypeOf(Type.list(Type.string)).toEqualTypeOf<ListType>();
    expectTypeOf(Type.string.kind).toEqualTypeOf<"string" | "number" | "bool">();
    const any: Type = Type.capsule<Date>("time");
    expectTypeOf(any).toExtend<Type>();
  });
});

describe("values", () => {
  it("are nominal: nothing else passes for one", () => {
    expectTypeOf<{ type: Type; isNull: boolean }>().not.toExtend<Value>();
    expectTypeOf(Value.string("a").unmark()).toEqualTypeOf<readonly [value: Value, marks: Marks]>();
    expectTypeOf([...Value.true.marks]).toEqualTypeOf<Mark[]>();
  });

  it("of capsule types keep the type of their content", () => {
    const time = Type.capsule<Date>("time");
    expectTypeOf(time).toEqualTypeOf<CapsuleType<Date>>();
    expectTypeOf(Value.capsule(time, new Date(0)).asCapsule(time)).toEqualTypeOf<Date>();
    // @ts-expect-error the content must be of the capsule's type
    Value.capsule(time, "now");
  });

  it("become plain data", () => {
    expectTypeOf(toNative).returns.toEqualTypeOf<Native>();
    expectTypeOf(unify([Type.string])?.type).toEqualTypeOf<Type | undefined>();
  });
});
