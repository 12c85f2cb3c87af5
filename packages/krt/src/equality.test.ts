import { describe, expect, it } from "vitest";
import { Comparer } from "./core/comparer.ts";
import { byFields, deepEqual, firstDifference } from "./equality.ts";

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
  [new Point(1), new Point(1)],
  [new Version(1, "a"), new Version(1, "b")],
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
  [new Point(1), { x: 1 }],
  [new Version(1, "a"), new Version(2, "a")],
];

describe("deepEqual", () => {
  it.each(equal)("%j equals %j", (a, b) => {
    expect(deepEqual(a, b)).toBe(true);
    expect(deepEqual(b, a)).toBe(true);
    expect(firstDifference(a, b)).toBeUndefined();
  });
  it.each(different)("%j differs from %j", (a, b) => {
    expect(deepEqual(a, b)).toBe(false);
    expect(deepEqual(b, a)).toBe(false);
    expect(firstDifference(a, b)).toBeDefined();
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
  ])("between %j and %j is at %j", (a, b, path) => {
    expect(firstDifference(a, b)).toBe(path);
  });
});
