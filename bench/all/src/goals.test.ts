import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Figure } from "@stackwright-bench/figures";
import { expect, it } from "vitest";
import { GOALS, goalTable } from "./goals.ts";

const figure: Figure = {
  name: "a",
  unit: "ms",
  size: 10,
  of: "things",
  ours: { subject: "ours", middle: 60 },
  baseline: { subject: "peer", middle: 40 },
};
const goal = { what: "A", figure: ["a", 10], before: 90, floor: 20 } as const;

it("compares a ratio with its goal", () => {
  const [, , row] = goalTable([figure], [{ ...goal, by: "ratio", goal: 1.5 }]);
  expect(row?.replaceAll(/ +/g, " ")).toBe("| A | 90 | 1.5 | 40 ms, peer | 20 | 1.5 | met |");
});

it("compares ours with its goal in the unit of the figure", () => {
  const [, , row] = goalTable([figure], [{ ...goal, by: "ours", goal: 59 }]);
  expect(row?.replaceAll(/ +/g, " ")).toBe(
    "| A | 90 ms | 60 ms | 40 ms, peer | 20 ms | 59 ms | **missed** |",
  );
});

it("leaves open what was not measured", () => {
  const [, , row] = goalTable([], [{ ...goal, by: "ratio", goal: 1 }]);
  expect(row?.replaceAll(/ +/g, " ")).toBe("| A | 90 | | | 20 | 1 | |");
});

it("names figures that were recorded", () => {
  const path = join(import.meta.dirname, "../../../docs/benchmarks/figures.json");
  const { jobs } = JSON.parse(readFileSync(path, "utf8")) as {
    readonly jobs: readonly { readonly figures: readonly Figure[] }[];
  };
  const recorded = new Set(
    jobs.flatMap(({ figures }) => figures.map(({ name, size }) => `${name} ${size}`)),
  );
  const open = GOALS.filter((one) => !recorded.has(one.figure.join(" ")));
  expect(open.map(({ what }) => what)).toEqual([]);
});
