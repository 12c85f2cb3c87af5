import { describe, expect, it } from "vitest";
import { Mark, Marks, Type, Value } from "../index.ts";

describe("marks", () => {
  it("are the same by kind and key, wherever they come from", () => {
    expect(Mark.of("sensitive")).toBe(Mark.sensitive);
    expect(Mark.deprecated("use b").equals(Mark.of("deprecated", "use b", { since: 3 }))).toBe(
      true,
    );
    expect(Mark.deprecated("use b").equals(Mark.deprecated("use c"))).toBe(false);
    expect(Mark.of("own", "key").equals(Mark.of("own"))).toBe(false);
  });

  it("form sets without order or duplicates", () => {
    const marks = Marks.of(Mark.sensitive, Mark.of("b"), Mark.of("sensitive"), Mark.of("a"));
    expect(String(marks)).toBe("a, b, sensitive");
    expect(marks.equals(Marks.of(Mark.of("a"), Mark.of("b"), Mark.sensitive))).toBe(true);
    expect(marks.without(Mark.of("b")).size).toBe(2);
    expect(marks.without(Mark.of("c"))).toBe(marks);
    expect(Marks.of()).toBe(Marks.none);
    expect(marks.union(Marks.none)).toBe(marks);
    expect(Marks.none.union(marks)).toBe(marks);
  });

  it("are found by kind", () => {
    const marks = Marks.of(Mark.deprecated("x", { by: 1 }), Mark.deprecated("y"), Mark.sensitive);
    expect(marks.hasKind("deprecated")).toBe(true);
    expect(marks.ofKind("deprecated").map((mark) => mark.key)).toEqual(["x", "y"]);
    expect(marks.ofKind("deprecated")[0]?.data).toEqual({ by: 1 });
  });
});

describe("marked values", () => {
  const value = Value.string("a").mark(Mark.sensitive);

  it("are taken apart and put together", () => {
    const [plain, marks] = value.unmark();
    expect(plain.isMarked).toBe(false);
    expect(plain.withMarks(marks).rawEquals(value)).toBe(true);
    expect(plain.unmark()).toEqual([plain, Marks.none]);
  });

  it("collect marks, each once", () => {
    const more = value.mark(Mark.ephemeral, Mark.sensitive);
    expect(String(more.marks)).toBe("ephemeral, sensitive");
    expect(value.mark(Mark.sensitive)).toBe(value);
    expect(Value.zero.withMarksOf(value, more).marks.equals(more.marks)).toBe(true);
  });

  it("may be null or unknown", () => {
    for (const special of [Value.null(Type.string), Value.unknown(Type.string), Value.dynamic]) {
      const marked = special.mark(Mark.sensitive);
      expect([marked.isNull, marked.isKnown]).toEqual([special.isNull, special.isKnown]);
    }
  });
});
