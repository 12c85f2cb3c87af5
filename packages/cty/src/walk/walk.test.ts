import { describe, expect, it } from "vitest";
import {
  deepMarks,
  deepValues,
  Mark,
  Marks,
  markWithPaths,
  Path,
  rewriteMarks,
  Type,
  transform,
  unknownAsNull,
  unmarkDeep,
  unmarkDeepWithPaths,
  Value,
  walk,
} from "../index.ts";

const value = Value.object({
  list: Value.list([Value.string("a"), Value.unknown(Type.string)]),
  map: Value.map({ k: Value.number(1) }),
  set: Value.set([Value.true]),
  void: Value.null(Type.list(Type.string)),
});

describe("walking", () => {
  it("visits wholes before their parts, in order", () => {
    const seen: string[] = [];
    walk(value, (path) => {
      seen.push(String(path));
    });
    expect(seen).toEqual([
      "",
      ".list",
      ".list[0]",
      ".list[1]",
      ".map",
      '.map["k"]',
      ".set",
      ".set[...]",
      ".void",
    ]);
    expect(Array.from(deepValues(value), ([path]) => String(path))).toEqual(seen);
  });

  it("leaves out what is excluded", () => {
    const seen: string[] = [];
    walk(value, (path) => {
      seen.push(String(path));
      return path.length === 0;
    });
    expect(seen).toEqual(["", ".list", ".map", ".set", ".void"]);
  });
});

describe("transforming", () => {
  it("replaces parts before wholes", () => {
    const order: string[] = [];
    const result = transform(value, (path, part) => {
      order.push(String(path));
      return part.isKnown && !part.isNull && part.type === Type.string ? Value.string("b") : part;
    });
    expect(order.at(-1)).toBe("");
    expect(order.indexOf(".list[0]")).toBeLessThan(order.indexOf(".list"));
    expect(
      result.rawEquals(
        Value.object({
          ...Object.fromEntries(value.entries()),
          list: Value.list([Value.string("b"), Value.unknown(Type.string)]),
        }),
      ),
    ).toBe(true);
  });

  it("keeps what has no changed part identical", () => {
    expect(transform(value, (_path, part) => part)).toBe(value);
  });

  it("may change types, and marks stay on wholes", () => {
    const list = Value.list([Value.number(1), Value.number(2)]).mark(Mark.sensitive);
    const result = transform(list, (path, part) =>
      path.length === 1 ? Value.string(part.asBigFloat().text()) : part,
    );
    expect(result.type).toBe(Type.list(Type.string));
    expect(result.hasMark(Mark.sensitive)).toBe(true);
    const mixed = () =>
      transform(list, (path, part) => (String(path) === "[0]" ? Value.true : part));
    expect(mixed).toThrow(expect.objectContaining({ code: "CTY_INVALID_VALUE" }));
  });

  it("enters what `enter` returns", () => {
    const result = transform(value, {
      enter: (path, part) => (String(path) === ".map" ? Value.map({ x: Value.number(5) }) : part),
      exit: (path, part) => (String(path) === '.map["x"]' ? Value.number(6) : part),
    });
    const map = [...result.entries()].find(([name]) => name === "map")?.[1];
    expect(map?.rawEquals(Value.map({ x: Value.number(6) }))).toBe(true);
  });

  it("moves marks of set elements to the set", () => {
    const result = transform(Value.set([Value.string("a")]), (path, part) =>
      path.length === 1 ? part.mark(Mark.sensitive) : part,
    );
    expect(result.hasMark(Mark.sensitive)).toBe(true);
  });
});

describe("unknowns as nulls", () => {
  it("are nulls of the same type with the same marks", () => {
    const open = Value.tuple([
      Value.unknown(Type.string).mark(Mark.sensitive),
      Value.dynamic,
      Value.true,
    ]);
    const expected = Value.tuple([
      Value.null(Type.string).mark(Mark.sensitive),
      Value.null(Type.dynamic),
      Value.true,
    ]);
    expect(unknownAsNull(open).rawEquals(expected)).toBe(true);
    expect(unknownAsNull(expected)).toBe(expected);
  });
});

describe("deep marks", () => {
  const marked = Value.object({
    a: Value.string("x").mark(Mark.sensitive),
    b: Value.list([Value.string("y"), Value.string("z").mark(Mark.of("one"), Mark.of("two"))]),
    c: Value.set([Value.string("s").mark(Mark.ephemeral)]),
  }).mark(Mark.of("whole"));

  it("come off with the places where they were, and go back there", () => {
    const [plain, found] = unmarkDeepWithPaths(marked);
    expect(plain.containsMarks).toBe(false);
    expect(found.map(({ path, marks }) => `${String(path)}: ${String(marks)}`)).toEqual([
      ": whole",
      ".a: sensitive",
      ".b[1]: one, two",
      ".c: ephemeral",
    ]);
    expect(markWithPaths(plain, found).rawEquals(marked)).toBe(true);
  });

  it("come off all together", () => {
    const [plain, marks] = unmarkDeep(marked);
    expect(plain.containsMarks).toBe(false);
    expect(String(marks)).toBe("ephemeral, one, sensitive, two, whole");
    expect(deepMarks(marked).equals(marks)).toBe(true);
    expect(unmarkDeep(plain)[0]).toBe(plain);
  });

  it("can be rewritten place by place", () => {
    const result = rewriteMarks(marked, (marks, path) =>
      String(path) === ".a" ? Marks.none : marks.without(Mark.of("one")),
    );
    expect(
      unmarkDeepWithPaths(result)[1].map(({ path, marks }) => `${String(path)}: ${String(marks)}`),
    ).toEqual([": whole", ".b[1]: two", ".c: ephemeral"]);
  });

  it("are put on what is there", () => {
    const [plain] = unmarkDeep(marked);
    const at = (path: Path) => markWithPaths(plain, [{ path, marks: Marks.of(Mark.sensitive) }]);
    expect(at(Path.root.attribute("none"))).toBe(plain);
    expect(at(Path.root.attribute("b").index(9))).toBe(plain);
    expect(
      String(
        unmarkDeepWithPaths(at(Path.root.attribute("c").index(Value.string("s"))))[1][0]?.path,
      ),
    ).toBe(".c");
  });

  it("for parts of an unknown stay with the unknown", () => {
    const unknown = Value.object({ secret: Value.unknown(Type.object({ password: Type.string })) });
    const path = Path.root.attribute("secret").attribute("password");
    const result = markWithPaths(unknown, [{ path, marks: Marks.of(Mark.sensitive) }]);
    expect(String(unmarkDeepWithPaths(result)[1][0]?.path)).toBe(".secret");
  });
});
