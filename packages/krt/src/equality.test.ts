import { createContext, runInContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { Comparer } from "./core/comparer.ts";
import { byFields, deepEqual, firstDifference, visibleEqual } from "./equality.ts";

const REALM = createContext();
/** Makes an object of another realm. */
const FOREIGN = (text: string): unknown => runInContext(text, REALM);
const DEFAULTS = { v: 1 };

class Version {
  readonly major: number;
  readonly note: string;
  constructor(major: number, note: string) {
    this.major = major;
    this.note = note;
  }
  equals(other: Version): boolean {
    return this.major === other.major;
  }
}

class Point {
  readonly x: number;
  constructor(x: number) {
    this.x = x;
  }
}

class Hidden {
  readonly #state: number;
  constructor(state: number) {
    this.#state = state;
  }
  get state(): number {
    return this.#state;
  }
}

class Tagged extends Map<string, number> {
  readonly #tag: string;
  constructor(entries: [string, number][], tag: string) {
    super(entries);
    this.#tag = tag;
  }
  get tag(): string {
    return this.#tag;
  }
}

class Elements extends Array<number> {}

const equal: [unknown, unknown][] = [
  [1, 1],
  [Number.NaN, Number.NaN],
  [0, -0],
  [{}, {}],
  [
    { a: 1, b: [1, { c: 2 }] },
    { b: [1, { c: 2 }], a: 1 },
  ],
  [
    [1, undefined],
    [1, undefined],
  ],
  [new Date(5), new Date(5)],
  [/a/g, /a/g],
  [new Map([["a", { v: 1 }]]), new Map([["a", { v: 1 }]])],
  [new Set([1, 2]), new Set([2, 1])],
  [new Uint8Array([1, 2]), new Uint8Array([1, 2])],
  [new Version(1, "a"), new Version(1, "b")],
  [new Error("a"), new Error("a")],
  [new Error("a", { cause: { at: 1 } }), new Error("a", { cause: { at: 1 } })],
  [new AggregateError([new Error("a")], "all"), new AggregateError([new Error("a")], "all")],
  [new Date(Number.NaN), new Date(Number.NaN)],
  [new Uint8Array([1, 2]).buffer, new Uint8Array([1, 2]).buffer],
  [new DataView(new ArrayBuffer(2)), new DataView(new ArrayBuffer(2))],
  [Buffer.from("ab"), Buffer.from("ab")],
  [new Headers({ a: "1", B: "2" }), new Headers({ b: "2", a: "1" })],
  [new URL("https://a.example/x"), new URL("https://a.example/x")],
  [new URLSearchParams("a=1"), new URLSearchParams("a=1")],
  [Object(1), Object(1)],
  [FOREIGN("({ a: [1] })"), FOREIGN("({ a: [1] })")],
  [Object.create(DEFAULTS), Object.create(DEFAULTS)],
  [Object.create(null), Object.create(null)],
];

const different: [unknown, unknown][] = [
  [1, 2],
  [1, "1"],
  [null, undefined],
  [null, {}],
  [{ a: 1 }, { a: 2 }],
  [{ a: 1 }, { a: 1, b: 1 }],
  [{ a: 1, b: 1 }, { a: 1 }],
  [{ a: undefined }, {}],
  [{ a: undefined }, { b: undefined }],
  [[1], [1, 2]],
  [[], {}],
  [new Date(5), new Date(6)],
  [/a/g, /a/],
  [new Map([["a", 1]]), new Map([["b", 1]])],
  [
    new Map([["a", 1]]),
    new Map([
      ["a", 1],
      ["b", 1],
    ]),
  ],
  [new Set([1]), new Set([2])],
  [new Uint8Array([1]), new Uint8Array([2])],
  [new Point(1), new Point(2)],
  [new Point(1), new Point(1)],
  [new Hidden(1), new Hidden(2)],
  [new Hidden(1), new Hidden(1)],
  [new Tagged([["a", 1]], "x"), new Tagged([["a", 1]], "y")],
  [Object.assign([1], {}), new Elements(1)],
  [new Elements(1, 2), new Elements(1, 2)],
  [() => 1, () => 1],
  [Promise.resolve(1), Promise.resolve(1)],
  [new WeakMap(), new WeakMap()],
  [new Blob(["a"]), new Blob(["b"])],
  [new Intl.NumberFormat("en"), new Intl.NumberFormat("de")],
  [[1, 2].values(), [1, 3].values()],
  [new Error("a"), new Error("b")],
  [new Error("a"), new TypeError("a")],
  [new Error("a", { cause: 1 }), new Error("a", { cause: 2 })],
  [new Error("a", { cause: undefined }), new Error("a")],
  [new AggregateError([1], "a"), new AggregateError([2], "a")],
  [Object.assign(new Error("a"), { code: 1 }), Object.assign(new Error("a"), { code: 2 })],
  [new DOMException("a", "AbortError"), new DOMException("a", "TimeoutError")],
  [new Uint8Array([1]).buffer, new Uint8Array([2]).buffer],
  [new SharedArrayBuffer(1), new SharedArrayBuffer(2)],
  [new DataView(new ArrayBuffer(1)), new DataView(new ArrayBuffer(2))],
  [Buffer.from("ab"), Buffer.from("ac")],
  [new Headers({ a: "1" }), new Headers({ a: "2" })],
  [new Headers({ a: "1" }), new Headers({ a: "1", b: "1" })],
  [new URL("https://a.example/x"), new URL("https://a.example/y")],
  [new URLSearchParams("a=1"), new URLSearchParams("a=2")],
  [Object("a"), Object("b")],
  [Object.assign(/a/g, { lastIndex: 1 }), /a/g],
  [Object.create({ v: 1 }), Object.create({ v: 2 })],
  [new Point(1), { x: 1 }],
  [new Version(1, "a"), new Version(2, "a")],
];

describe("deepEqual", () => {
  it.each(equal)("%o equals %o", (a, b) => {
    expect(deepEqual(a, b)).toBe(true);
    expect(deepEqual(b, a)).toBe(true);
    expect(firstDifference(a, b)).toBeUndefined();
  });
  it.each(different)("%o differs from %o", (a, b) => {
    expect(deepEqual(a, b)).toBe(false);
    expect(deepEqual(b, a)).toBe(false);
    expect(deepEqual({ in: [a] }, { in: [b] })).toBe(false);
    expect(deepEqual(a, a)).toBe(true);
  });
});

describe("visibleEqual", () => {
  it.each(equal)("%o equals %o", (a, b) => {
    expect(visibleEqual(a, b)).toBe(true);
  });
  it("compares instances of all classes by their fields", () => {
    expect(visibleEqual([new Point(1)], [new Point(1)])).toBe(true);
    expect(visibleEqual([new Point(1)], [new Point(2)])).toBe(false);
    expect(visibleEqual(new Elements(1, 2), new Elements(1, 2))).toBe(true);
    expect(visibleEqual(new Elements(1, 2), new Elements(1, 3))).toBe(false);
    expect(visibleEqual(new Tagged([["a", 1]], "x"), new Tagged([["a", 2]], "x"))).toBe(false);
  });
});

describe("Comparer", () => {
  it("gives the same answers as the equality, whatever it compared before", () => {
    const comparer = new Comparer<unknown>(deepEqual);
    const pairs = [
      ...equal.map((pair) => [...pair, true]),
      ...different.map((pair) => [...pair, false]),
    ];
    pairs.push([{ x: Number.NaN, y: 1 }, { x: Number.NaN, y: 1 }, true]);
    pairs.push([{ x: 1, y: { z: 1 } }, { x: 1, y: { z: 1 } }, true]);
    for (let round = 0; round < 3; round++) {
      // A difference in the field `x` or `a` between the pairs makes it look there first.
      for (const field of ["x", "a", "major"]) {
        for (const [a, b, expected] of pairs) {
          expect(comparer.equal({ [field]: 1 }, { [field]: 2 })).toBe(false);
          expect(comparer.equal(a, b)).toBe(expected);
        }
      }
    }
  });

  it("leaves objects with an equality of their own to it", () => {
    const comparer = new Comparer<object>(deepEqual);
    const loose = { equals: () => true };
    expect(comparer.equal({ v: 1 }, { v: 2 })).toBe(false);
    const [one, two] = [1, 2].map((v) => Object.assign(Object.create(loose) as object, { v }));
    expect(comparer.equal(one as object, two as object)).toBe(deepEqual(one, two));
  });

  it("leaves other equalities alone", () => {
    const comparer = new Comparer<{ v: number }>((a, b) => a.v % 2 === b.v % 2);
    expect(comparer.equal({ v: 1 }, { v: 3 })).toBe(true);
    expect(comparer.equal({ v: 1 }, { v: 2 })).toBe(false);
  });
});

describe("byFields", () => {
  it("compares the listed parts only", () => {
    const equals = byFields((o: { a: number; b: { c: number }; d: number }) => [o.a, o.b]);
    expect(equals({ a: 1, b: { c: 1 }, d: 1 }, { a: 1, b: { c: 1 }, d: 2 })).toBe(true);
    expect(equals({ a: 1, b: { c: 1 }, d: 1 }, { a: 1, b: { c: 2 }, d: 1 })).toBe(false);
  });
});

describe("firstDifference", () => {
  it.each([
    [{ a: { b: [1, 2] } }, { a: { b: [1, 3] } }, "a.b.1"],
    [{ a: 1 }, { a: 1, b: 2 }, "b"],
    [{ a: undefined }, {}, "a"],
    [1, 2, ""],
    [{ a: [] }, { a: {} }, "a"],
    [{ a: new Point(1) }, { a: new Point(2) }, "a.x"],
  ])("between %j and %j is at %j", (a, b, path) => {
    expect(firstDifference(a, b)).toBe(path);
  });
});
