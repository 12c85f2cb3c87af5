import { describe, expect, it } from "vitest";
import {
  applyPath,
  applyPathToType,
  CtyError,
  comparePaths,
  Mark,
  Path,
  PathSet,
  Type,
  typeExpression,
  Value,
} from "../index.ts";

const root = Path.root;
const set = Value.set([Value.string("x"), Value.string("y")]);
const value = Value.object({
  list: Value.list([Value.object({ id: Value.number(1) }), Value.object({ id: Value.number(2) })]),
  map: Value.map({ k: Value.string("v") }).mark(Mark.of("m")),
  open: Value.dynamic,
  set,
  unknown: Value.unknown(Type.list(Type.object({ id: Type.number }))),
  void: Value.null(Type.object({ a: Type.string })),
});

describe("paths", () => {
  it("are written like traversals", () => {
    expect(String(root.attribute("a").index(0).index('k"').attribute("b"))).toBe('.a[0]["k\\""].b');
    expect(String(root.index(Value.unknown(Type.number)))).toBe("[*]");
    expect(String(root)).toBe("");
  });

  it("are equal step by step, with the type of keys", () => {
    const path = root.attribute("a").index(0);
    expect(path.equals(root.attribute("a").index(Value.parseNumber("0")))).toBe(true);
    expect(path.equals(root.attribute("a").index("0"))).toBe(false);
    expect(path.equals(root.attribute("b").index(0))).toBe(false);
    expect(Path.from(path.steps).equals(path)).toBe(true);
    expect(root.attribute("x").concat(path).steps).toHaveLength(3);
  });

  it("know their prefixes", () => {
    const path = root.attribute("a").index(0).attribute("b");
    expect(path.startsWith(root)).toBe(true);
    expect(path.startsWith(root.attribute("a").index(0))).toBe(true);
    expect(path.startsWith(path)).toBe(true);
    expect(path.startsWith(root.attribute("a").index(1))).toBe(false);
    expect(root.attribute("a").startsWith(path)).toBe(false);
  });

  it("have an order", () => {
    const paths = [
      root.index(10),
      root.index(2),
      root.attribute("b"),
      root.attribute("a").index(0),
      root.attribute("a"),
      root,
      root.index("z"),
      root.index("a"),
    ];
    expect(paths.toSorted(comparePaths).map(String)).toEqual([
      "",
      ".a",
      ".a[0]",
      ".b",
      "[2]",
      "[10]",
      '["a"]',
      '["z"]',
    ]);
  });
});

describe("a path into a value", () => {
  const found: readonly (readonly [Path, Value])[] = [
    [root, value],
    [root.attribute("list").index(1).attribute("id"), Value.number(2)],
    [root.attribute("map").index("k"), Value.string("v").mark(Mark.of("m"))],
    [root.attribute("set").index(Value.string("y")), Value.string("y")],
    [root.attribute("unknown").index(5).attribute("id"), Value.unknown(Type.number)],
    [root.attribute("open").attribute("any").index(3), Value.dynamic],
  ];

  it.each(found.map(([path, part]) => [String(path), path, part] as const))(
    "finds %s",
    (_name, path, part) => {
      expect(applyPath(value, path).rawEquals(part)).toBe(true);
    },
  );

  it.each([
    [root.attribute("none"), "CTY_NO_SUCH_ELEMENT", ".none"],
    [root.attribute("list").index(2).attribute("id"), "CTY_NO_SUCH_ELEMENT", ".list[2]"],
    [root.attribute("list").index("0"), "CTY_WRONG_TYPE", '.list["0"]'],
    [root.attribute("list").attribute("id"), "CTY_WRONG_TYPE", ".list.id"],
    [root.attribute("void").attribute("a"), "CTY_NULL", ".void.a"],
    [root.attribute("set").index(Value.string("z")), "CTY_NO_SUCH_ELEMENT", '.set["z"]'],
  ] as const)("%#: tells where it fails", (path, code, where) => {
    expect(() => applyPath(value, path)).toThrow(CtyError);
    try {
      applyPath(value, path);
    } catch (error) {
      expect(error).toMatchObject({ code });
      expect(String(CtyError.from(error).path)).toBe(where);
    }
  });

  it("leads to a type as well", () => {
    const at = (path: Path) => {
      const type = applyPathToType(value.type, path);
      return type === undefined ? undefined : typeExpression(type);
    };
    expect(at(root.attribute("list").index(7).attribute("id"))).toBe("number");
    expect(at(root.attribute("map").index(Value.unknown(Type.string)))).toBe("string");
    expect(at(root.attribute("open").index(1))).toBe("any");
    expect(at(root.attribute("none").index(1))).toBeUndefined();
    expect(at(root.attribute("list").index("k"))).toBeUndefined();
  });
});

describe("path sets", () => {
  const paths = new PathSet([
    root.attribute("b").index(1),
    root.attribute("a"),
    root.attribute("b").index(1),
  ]);

  it("hold each path once, in order", () => {
    expect(paths.size).toBe(2);
    expect([...paths].map(String)).toEqual([".a", ".b[1]"]);
    expect(paths.has(root.attribute("b").index(Value.number(1)))).toBe(true);
    expect(paths.has(root.attribute("b"))).toBe(false);
  });

  it("know what is above and below", () => {
    expect(paths.hasAtOrAbove(root.attribute("a").attribute("x"))).toBe(true);
    expect(paths.hasAtOrAbove(root.attribute("b"))).toBe(false);
    expect(paths.hasAtOrBelow(root.attribute("b"))).toBe(true);
    expect(paths.hasAtOrBelow(root)).toBe(true);
    expect(paths.hasAtOrBelow(root.attribute("c"))).toBe(false);
  });

  it("let paths go", () => {
    const some = new PathSet(paths);
    expect(some.delete(root.attribute("a"))).toBe(true);
    expect(some.delete(root.attribute("a"))).toBe(false);
    expect(some.hasAtOrBelow(root.attribute("a"))).toBe(false);
    expect(some.size).toBe(1);
  });

  it("distinguish elements of sets", () => {
    const elements = new PathSet([
      root.index(Value.list([Value.zero])),
      root.index(Value.list([Value.true])),
    ]);
    expect(elements.size).toBe(2);
    expect(elements.has(root.index(Value.list([Value.number(0)])))).toBe(true);
  });
});
