import { describe, expect, it } from "vitest";
import { graphOf } from "../../graph/graph.ts";
import { layoutGraph } from "../../graph/layout-graph.ts";
import { nextNode, viewWith } from "./places-in-picture.ts";

const nodes = ["a", "b", "c", "d"].map((id) => ({ id, label: id, module: "" }));
/** a and b are left, c needs b, and d needs c. */
const graph = graphOf(nodes, [
  ["c", "b"],
  ["d", "c"],
]);
const layout = layoutGraph(graph);
const size = { width: 800, height: 600 };

describe("nextNode", () => {
  const next = (from: string, direction: Parameters<typeof nextNode>[3]): string | undefined =>
    graph.nodes[
      nextNode(
        graph,
        layout,
        nodes.findIndex(({ id }) => id === from),
        direction,
      ) ?? -1
    ]?.id;

  it("goes along dependencies, and to the nearest one where there is none", () => {
    expect([next("d", "left"), next("c", "left"), next("b", "right")]).toEqual(["c", "b", "c"]);
    expect(next("a", "right")).toBe("c");
    expect(next("a", "up") ?? next("a", "down")).toBe("b");
  });

  it("ends at the sides, and begins at the left", () => {
    expect([next("d", "right"), next("a", "left")]).toEqual([undefined, undefined]);
    expect(["a", "b"]).toContain(next("none", "right"));
  });
});

describe("viewWith", () => {
  it("leaves a view in which a node can be read, and moves one that it is outside of or too small in", () => {
    expect(viewWith(layout, [0], { x: 0, y: 0, scale: 1 }, size)).toBeUndefined();
    for (const view of [
      { x: -5_000, y: 0, scale: 1 },
      { x: 0, y: 0, scale: 0.1 },
    ]) {
      const moved = viewWith(layout, [0], view, size);
      expect(moved?.scale).toBe(1);
      expect((layout.x[0] ?? 0) + (moved?.x ?? 0) + (layout.widths[0] ?? 0) / 2).toBeCloseTo(400);
    }
  });

  it("shows all of many nodes, as large as they fit", () => {
    const wide = { ...layout, x: Float64Array.from([0, 4_000, 8_000, 12_000]) };
    const moved = viewWith(wide, [0, 3], { x: 0, y: 0, scale: 1 }, size);
    expect(moved?.scale).toBeLessThan(0.1);
    expect(viewWith(wide, [0, 3], moved ?? { x: 0, y: 0, scale: 1 }, size)).toBeUndefined();
  });
});
