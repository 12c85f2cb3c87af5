import type { Figure } from "@stackwright-bench/figures";
import { expect, it } from "vitest";
import { regressions } from "./compare.ts";

function figure(name: string, size: number, ours: number, baseline: number, least = ours): Figure {
  return {
    name,
    unit: "ms",
    size,
    of: "things",
    ours: { subject: "ours", middle: ours, least, most: ours },
    baseline: { subject: "peer", middle: baseline },
  };
}

it("names what got worse by more than noise, the worst first", () => {
  const recorded = [figure("a", 1, 10, 10), figure("b", 1, 10, 10), figure("c", 1, 10, 10)];
  const found = [figure("a", 1, 16, 10), figure("b", 1, 40, 10), figure("c", 1, 15, 10)];
  expect(regressions(found, recorded)).toMatchObject([
    { figure: { name: "b" }, ratio: 4, recorded: 1 },
    { figure: { name: "a" }, ratio: 1.6, recorded: 1 },
  ]);
});

it("does not call it worse where the machine is slower for both", () => {
  expect(regressions([figure("a", 1, 50, 50)], [figure("a", 1, 10, 10)])).toEqual([]);
});

it("takes the best round, so that one slow round is none", () => {
  expect(regressions([figure("a", 1, 30, 10, 12)], [figure("a", 1, 10, 10)])).toEqual([]);
});

it("judges nothing that is not recorded at that size", () => {
  expect(regressions([figure("a", 2, 90, 10)], [figure("a", 1, 10, 10)])).toEqual([]);
});
