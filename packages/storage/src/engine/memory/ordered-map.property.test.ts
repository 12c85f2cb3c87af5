import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OrderedMap } from "./ordered-map.ts";

type Step = readonly ["set" | "delete" | "snapshot", number, number];

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom("set" as const, "set" as const, "delete" as const, "snapshot" as const),
  fc.nat(3_000),
  fc.nat(1_000),
);

const keyOf = (number: number): string => `key-${String(number).padStart(5, "0")}`;

function entries(map: OrderedMap<number>, from = ""): [string, number][] {
  return [...map.entriesFrom(from)];
}

function sorted(oracle: ReadonlyMap<string, number>, from = ""): [string, number][] {
  return [...oracle]
    .filter(([key]) => key >= from)
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
}

describe("the ordered map", () => {
  test("agrees with a sorted map, and so do all of its snapshots for ever", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600, size: "max" }), fc.nat(3_000), (steps, from) => {
        const map = new OrderedMap<number>();
        const oracle = new Map<string, number>();
        const snapshots: [OrderedMap<number>, Map<string, number>][] = [];
        for (const [kind, number, value] of steps) {
          const key = keyOf(number);
          if (kind === "set") {
            map.set(key, value);
            oracle.set(key, value);
          } else if (kind === "delete") {
            expect(map.delete(key)).toBe(oracle.delete(key));
          } else {
            snapshots.push([map.snapshot(), new Map(oracle)]);
          }
        }
        snapshots.push([map, oracle]);
        for (const [taken, expected] of snapshots) {
          expect(taken.size).toBe(expected.size);
          expect(entries(taken)).toEqual(sorted(expected));
          expect(entries(taken, keyOf(from))).toEqual(sorted(expected, keyOf(from)));
          expect(taken.get(keyOf(from))).toBe(expected.get(keyOf(from)));
        }
      }),
    );
  });

  test("keeps its order through tens of thousands of keys, also when it shrinks to nothing", () => {
    for (const order of ["rising", "falling", "mixed"] as const) {
      const map = new OrderedMap<number>();
      const numbers = Array.from({ length: 20_000 }, (_, index) =>
        order === "mixed" ? (index * 7_919) % 20_000 : index,
      );
      if (order === "falling") numbers.reverse();
      for (const number of numbers) map.set(keyOf(number), number);
      expect(map.size).toBe(20_000);
      const kept = map.snapshot();
      let expected = 0;
      for (const [key, value] of map.entriesFrom("")) {
        expect(key).toBe(keyOf(expected));
        expect(value).toBe(expected);
        expected += 1;
      }
      for (const number of numbers) map.delete(keyOf((number * 31) % 20_000));
      expect(map.size).toBe(0);
      expect(entries(map)).toEqual([]);
      expect(kept.size).toBe(20_000);
      expect(kept.get(keyOf(12_345))).toBe(12_345);
    }
  });

  test("lets a snapshot be written to without touching its origin", () => {
    const map = new OrderedMap<number>();
    for (let number = 0; number < 500; number += 1) map.set(keyOf(number), number);
    const copy = map.snapshot();
    for (let number = 0; number < 500; number += 2) copy.delete(keyOf(number));
    copy.set("new", 1);
    expect(map.size).toBe(500);
    expect(map.get("new")).toBeUndefined();
    expect(copy.size).toBe(251);
  });
});
