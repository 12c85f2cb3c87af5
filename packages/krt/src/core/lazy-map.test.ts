import { describe, expect, it } from "vitest";
import { LazyMap } from "./lazy-map.ts";

describe("LazyMap", () => {
  it("behaves as a map", () => {
    const map = new LazyMap<string, number>();
    const twin = new Map<string, number>();
    let seed = 1;
    const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
    for (let i = 0; i < 20_000; i++) {
      const key = `k${random(300)}`;
      if (random(2) === 0) {
        map.set(key, i);
        twin.set(key, i);
      } else {
        map.delete(key);
        twin.delete(key);
      }
      expect(map.get(key)).toBe(twin.get(key));
      expect(map.size).toBe(twin.size);
    }
    expect([...map.keys()].sort()).toEqual([...twin.keys()].sort());
    expect([...map.values()].sort((a, b) => a - b)).toEqual(
      [...twin.values()].sort((a, b) => a - b),
    );
  });
});
