import type { Figure } from "@stackwright-bench/figures";
import { expect, it } from "vitest";
import { curvesOf } from "./curves.ts";
import { plot } from "./plot.ts";

function figure(size: number, ours: number, baseline: number): Figure {
  return {
    name: "a <b> & c",
    unit: "ms",
    size,
    of: "things",
    ours: { subject: "ours", middle: ours, least: ours / 2, most: ours * 2 },
    baseline: { subject: "peer", middle: baseline },
  };
}

function plotted(...figures: readonly Figure[]): string {
  const [curve] = curvesOf(figures);
  if (curve === undefined) throw new Error("no curve");
  return plot(curve);
}

it("draws both lines by ascending sizes, larger values higher", () => {
  const svg = plotted(figure(100, 1000, 10), figure(1, 10, 10), figure(10, 100, 10));
  const lines = [...svg.matchAll(/<polyline points="([^"]*)"/g)].map(([, points = ""]) =>
    points.split(" ").map((point) => point.split(",").map(Number)),
  );
  expect(lines).toHaveLength(2);
  const [ours = [], baseline = []] = lines;
  expect(ours.map(([x = 0]) => x)).toEqual(ours.map(([x = 0]) => x).toSorted((a, b) => a - b));
  // Equal steps on both axes: a tenfold size, a tenfold cost.
  const [[, first = 0] = [], [, second = 0] = [], [, third = 0] = []] = ours;
  expect(first - second).toBeCloseTo(second - third, 0);
  expect(first).toBeGreaterThan(third);
  expect(new Set(baseline.map(([, y]) => y)).size).toBe(1);
});

it("shows the names of what is measured as text", () => {
  expect(plotted(figure(1, 1, 1), figure(2, 1, 1))).toContain("a &lt;b&gt; &amp; c");
});

it("has numbers alone as places, also of one size and of zero", () => {
  expect(plotted(figure(1, 0, 5))).not.toMatch(/NaN|Infinity/);
});
