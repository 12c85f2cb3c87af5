import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { filterMatches, type ResourceFilter } from "../key.ts";
import { A1, B1, HOME, sample } from "../testing/samples.ts";
import { SubscriptionIndex } from "./subscription-index.ts";

const field = fc.constantFrom("a", "b", "", "*");
const name = fc.constantFrom("", "a", "ab", "abc", "b", "ba");
const filter: fc.Arbitrary<ResourceFilter> = fc.record({
  type: fc.constantFrom(A1, B1),
  tenancy: fc.record({ partition: field, peerName: field, namespace: field }),
  namePrefix: name,
});
const plain = fc.constantFrom("a", "b", "");
const resource = fc
  .record({
    type: fc.constantFrom(A1, B1),
    tenancy: fc.record({ partition: plain, peerName: plain, namespace: plain }),
    name: name.filter((text) => text !== ""),
  })
  .map((id) => sample(id.type, id.tenancy, id.name));

describe("the subscription index", () => {
  test("finds exactly the subscribers whose filter matches, while they come and go", () => {
    fc.assert(
      fc.property(
        fc.array(filter, { maxLength: 40 }),
        fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }),
        fc.array(resource, { maxLength: 20 }),
        (filters, removals, resources) => {
          const index = new SubscriptionIndex<number>();
          const removers = filters.map((one, number) => index.add(one, number));
          for (const [number, remove] of removers.entries()) {
            if (removals[number] !== true) continue;
            remove();
            remove();
          }
          const left = filters.flatMap((one, number) =>
            removals[number] === true ? [] : [[one, number] as const],
          );
          expect(index.size).toBe(left.length);
          expect([...index.all()].toSorted((a, b) => a - b)).toEqual(
            left.map(([, number]) => number),
          );
          for (const one of resources) {
            const found: number[] = [];
            index.match(one.id, (number) => found.push(number));
            const expected = left.filter(([pattern]) => filterMatches(pattern, one));
            expect(found.toSorted((a, b) => a - b)).toEqual(expected.map(([, number]) => number));
          }
        },
      ),
    );
  });

  test("visits matching subscribers only", () => {
    const index = new SubscriptionIndex<number>();
    for (let number = 0; number < 1_000; number += 1) {
      index.add({ type: A1, tenancy: HOME, namePrefix: `stack-${number}.` }, number);
    }
    let visited = 0;
    index.match(sample(A1, HOME, "stack-7.object").id, () => {
      visited += 1;
    });
    expect(visited).toBe(1);
  });
});
