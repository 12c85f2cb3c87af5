import { describe, expect, test } from "vitest";
import { type ResourceFilter, resourceKey } from "../../key.ts";
import type { Resource } from "../../resource.ts";
import { A1, B1, EVERYWHERE, HOME, sample } from "../../testing/samples.ts";
import { OrderedMap } from "./ordered-map.ts";
import { selectResources } from "./select.ts";

/** Counts the entries that a scan looks at. */
class CountingMap extends OrderedMap<Resource> {
  visited = 0;

  override *entriesFrom(from: string): Generator<[string, Resource]> {
    for (const entry of super.entriesFrom(from)) {
      this.visited += 1;
      yield entry;
    }
  }
}

describe("selecting resources", () => {
  const map = new CountingMap();
  for (let unit = 0; unit < 50; unit += 1) {
    const tenancy = { ...HOME, namespace: `n${unit}` };
    for (let index = 0; index < 400; index += 1) {
      const name = `${index % 2 === 0 ? "even" : "odd"}-${index}`;
      for (const type of [A1, B1]) {
        const resource = sample(type, tenancy, name);
        map.set(resourceKey(resource.id), resource);
      }
    }
  }

  const select = (filter: ResourceFilter): { found: number; visited: number } => {
    map.visited = 0;
    const found = [...selectResources(map, filter)].length;
    return { found, visited: map.visited };
  };

  test("visits the matches of a prefix in one tenancy unit and one more", () => {
    const tenancy = { ...HOME, namespace: "n7" };
    const { found, visited } = select({ type: A1, tenancy, namePrefix: "odd-1" });
    expect(found).toBe(
      Array.from({ length: 400 }, (_, i) => i).filter((i) => i % 2 && `${i}`.startsWith("1"))
        .length,
    );
    expect(visited).toBeLessThanOrEqual(found + 2);
  });

  test("visits at most two more per tenancy unit under wildcards", () => {
    const { found, visited } = select({ type: A1, tenancy: EVERYWHERE, namePrefix: "odd-39" });
    expect(found).toBe(50 * 6);
    expect(visited).toBeLessThanOrEqual(found + 2 * 50 + 1);
    const one = { ...EVERYWHERE, namespace: "n49" };
    const single = select({ type: B1, tenancy: one, namePrefix: "" });
    expect(single.found).toBe(400);
    expect(single.visited).toBeLessThanOrEqual(400 + 2 * 50 + 1);
  });

  test("visits nothing of other types", () => {
    const { visited } = select({
      type: { group: "test", kind: "c" },
      tenancy: EVERYWHERE,
      namePrefix: "",
    });
    expect(visited).toBe(0);
  });
});
