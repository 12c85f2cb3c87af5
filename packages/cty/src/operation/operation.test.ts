import { describe, expect, it } from "vitest";
import { add, equal, index, length, Mark, refine, Type, Value } from "../index.ts";

describe("operations", () => {
  it("add exact numbers", () => {
    const sum = add(Value.parseNumber("0.1"), Value.parseNumber("0.2"));
    expect(sum.asBigFloat().text()).toBe("0.3");
  });

  it("carry bounds of unknown numbers", () => {
    const unknown = refine(Value.unknown(Type.number), { notNull: true, min: { value: 1 } });
    const sum = add(unknown, Value.number(2));
    expect(
      sum.rawEquals(refine(Value.unknown(Type.number), { notNull: true, min: { value: 3 } })),
    ).toBe(true);
  });

  it("pass marks on", () => {
    const list = Value.list([Value.string("a").mark(Mark.sensitive)]);
    expect(index(list, Value.zero).hasMark(Mark.sensitive)).toBe(true);
    expect(equal(list, list).hasMark(Mark.sensitive)).toBe(true);
    expect(length(list).isMarked).toBe(false);
  });
});
