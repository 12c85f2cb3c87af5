import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Graph, type GraphNode, graphOf } from "./graph.ts";
import { graphHtml, graphSvg } from "./graph-svg.ts";
import { fittingLevel, groupGraph, MAX_NODES } from "./group-graph.ts";
import { keepLayout } from "./keep-layout.ts";
import { type GraphLayout, layoutGraph, NODE_HEIGHT } from "./layout-graph.ts";

const node = (id: string, more: Partial<GraphNode> = {}): GraphNode => ({
  id,
  label: id,
  module: "",
  ...more,
});

const graphs = fc
  .record({
    count: fc.integer({ min: 0, max: 60 }),
    edges: fc.array(fc.tuple(fc.nat(80), fc.nat(80)), { maxLength: 120 }),
  })
  .map(({ count, edges }) =>
    graphOf(
      Array.from({ length: count }, (_, at) => node(`n${at}`)),
      edges.map(([from, to]) => [`n${from}`, `n${to}`] as const),
    ),
  );

/** No two nodes are on each other, and all are on the picture. */
function isReadable(graph: Graph, { x, y, widths, width, height }: GraphLayout): void {
  for (const [at] of graph.nodes.entries()) {
    const [left, top, own] = [x[at] ?? -1, y[at] ?? -1, widths[at] ?? 0];
    expect(left).toBeGreaterThanOrEqual(0);
    expect(top).toBeGreaterThanOrEqual(0);
    expect(left + own).toBeLessThanOrEqual(width);
    expect(top + NODE_HEIGHT).toBeLessThanOrEqual(height);
    for (let other = 0; other < at; other += 1) {
      const [otherLeft, otherTop] = [x[other] ?? 0, y[other] ?? 0];
      const isApart =
        left >= otherLeft + (widths[other] ?? 0) ||
        otherLeft >= left + own ||
        Math.abs(top - otherTop) >= NODE_HEIGHT;
      expect(isApart).toBe(true);
    }
  }
}

describe("layoutGraph", () => {
  it("puts no two nodes on each other, and all of them on the picture", () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        isReadable(graph, layoutGraph(graph));
      }),
    );
  });

  it("puts what is needed left of what needs it, where there is no cycle", () => {
    fc.assert(
      fc.property(graphs, ({ nodes, edges }) => {
        const forward = edges.filter(([from, to]) => from > to);
        const { x } = layoutGraph({ nodes, edges: forward });
        for (const [from, to] of forward) expect(x[from]).toBeGreaterThan(x[to] ?? 0);
      }),
    );
  });

  it("takes chains that are longer than a call stack", () => {
    const names = Array.from({ length: 20_000 }, (_, at) => `n${at}`);
    const edges = names.slice(1).map((name, at) => [name, names[at] ?? ""] as const);
    const { x } = layoutGraph(
      graphOf(
        names.map((name) => node(name)),
        edges,
      ),
    );
    expect(x[19_999]).toBeGreaterThan(x[19_998] ?? 0);
  });
});

describe("keepLayout", () => {
  it("is readable after any change, with what is needed left of what needs it", () => {
    fc.assert(
      fc.property(graphs, graphs, fc.nat(59), (before, after, shift) => {
        // Some of the nodes are others.
        const renamed = after.nodes.map(({ id }, at) => node(at % 60 < shift ? `${id} new` : id));
        const edges = after.edges.filter(([from, to]) => from > to);
        const graph = { nodes: renamed, edges };
        const layout = keepLayout(graph, { graph: before, layout: layoutGraph(before) });
        isReadable(graph, layout);
        for (const [from, to] of edges) expect(layout.x[from]).toBeGreaterThan(layout.x[to] ?? 0);
      }),
    );
  });

  it("leaves everything in its row and its column while nodes come and go that no other one needs", () => {
    fc.assert(
      fc.property(graphs, fc.array(fc.nat(59), { maxLength: 20 }), (full, positions) => {
        const edges = full.edges.filter(([from, to]) => from > to);
        const needed = new Set(edges.map(([, to]) => to));
        const loose = new Set(positions.filter((at) => !needed.has(at)));
        // There are always more that stay.
        fc.pre(loose.size * 2 < full.nodes.length);
        const idOf = (at: number): string => full.nodes[at]?.id ?? "";
        const part = graphOf(
          full.nodes.filter((_, at) => !loose.has(at)),
          edges.map(([from, to]) => [idOf(from), idOf(to)] as const),
        );
        const whole = { nodes: full.nodes, edges };
        for (const [one, other] of [
          [whole, part],
          [part, whole],
        ] as const) {
          const layout = layoutGraph(one);
          const later = keepLayout(other, { graph: one, layout });
          const places = new Map(other.nodes.map(({ id }, at) => [id, at]));
          const moves = new Map<number, number>();
          for (const [at, { id }] of one.nodes.entries()) {
            const place = places.get(id);
            if (place === undefined) continue;
            expect(later.y[place]).toBe(layout.y[at]);
            // A column moves as a whole.
            const [from = 0, to = 0] = [layout.x[at], later.x[place]];
            expect(moves.get(from) ?? to).toBe(to);
            moves.set(from, to);
          }
        }
      }),
    );
  });

  it("moves none of ten thousand nodes when one comes, one goes and one is in another state", () => {
    const names = Array.from({ length: 10_000 }, (_, at) => `n${at}`);
    const edges = names.slice(100).map((name, at) => [name, `n${at}`] as const);
    const before = graphOf(
      names.map((name) => node(name)),
      edges,
    );
    const layout = layoutGraph(before);
    // In another order, too.
    const after = graphOf(
      [
        node("new"),
        ...names.filter((name) => name !== "n9999").map((name) => node(name)),
      ].toReversed(),
      [...edges, ["new", "n4200"]],
    );
    const changed = after.nodes.map((one) => (one.id === "n7" ? { ...one, state: "bad" } : one));
    const later = keepLayout({ ...after, nodes: changed }, { graph: before, layout });
    const moved = after.nodes.filter(({ id }, place) => {
      const at = Number(id.slice(1));
      return id !== "new" && (later.x[place] !== layout.x[at] || later.y[place] !== layout.y[at]);
    });
    expect(moved).toEqual([]);
    expect([later.width, later.height]).toEqual([layout.width, layout.height]);
    const [from = -1, to = -1] = ["new", "n4200"].map((name) =>
      after.nodes.findIndex(({ id }) => id === name),
    );
    expect(later.x[from]).toBeGreaterThan(later.x[to] ?? Number.POSITIVE_INFINITY);
  });

  it("lays a graph out anew that has little in common with the former one", () => {
    const graph = graphOf([node("a"), node("b"), node("c")], [["c", "a"]]);
    const former = graphOf([node("z"), node("y"), node("a")], [["a", "z"]]);
    const layout = keepLayout(graph, { graph: former, layout: layoutGraph(former) });
    expect(layout).toEqual(layoutGraph(graph));
  });
});

describe("groupGraph", () => {
  const nodes = Array.from({ length: 10_000 }, (_, at) => {
    const module = `module.m${at % 100}`;
    const address = `${module}.t.r${at % 500}[${at}]`;
    return node(address, { module, state: at === 4_200 ? "tainted" : "ready" });
  });
  const edges = nodes.slice(1).map(({ id }, at) => [id, nodes[at]?.id ?? ""] as const);
  const whole = graphOf(nodes, edges);

  it("makes ten thousand instances a picture that can be read, and loses none", () => {
    expect(fittingLevel(whole)).toBe("resources");
    for (const level of ["instances", "resources", "modules"] as const) {
      const { nodes: groups } = groupGraph(whole, level);
      expect(groups.reduce((sum, { size = 1 }) => sum + size, 0)).toBe(10_000);
      // The one that is not as it should be shows in its group.
      expect(groups.filter(({ state }) => state === "tainted")).toHaveLength(1);
    }
    expect(groupGraph(whole, "modules").nodes).toHaveLength(100);
    expect(groupGraph(whole, "resources").nodes.length).toBeLessThanOrEqual(MAX_NODES);
  });

  it("makes ten thousand resources without modules, and as many modules, pictures that can be read", () => {
    const flat = graphOf(
      Array.from({ length: 10_000 }, (_, at) => node(`t${at % 40}.r${at}`)),
      [],
    );
    expect(fittingLevel(flat)).toBe("kinds");
    expect(groupGraph(flat, "kinds").nodes).toHaveLength(40);
    expect(groupGraph(flat, "kinds", new Set(["t7"])).nodes).toHaveLength(39 + 250);
    const deep = graphOf(
      Array.from({ length: 10_000 }, (_, at) => {
        const module = `module.zone["z${at}"].module.host`;
        return node(`${module}.t.r`, { module });
      }),
      [],
    );
    expect(fittingLevel(deep)).toBe("kinds");
    expect(groupGraph(deep, "kinds").nodes.map(({ id, size }) => [id, size])).toEqual([
      ["module.zone", 10_000],
    ]);
  });

  it("says how many of a group are in which state, and how many dependencies are between groups", () => {
    const stack = (id: string, state: string): GraphNode =>
      node(id, { module: id.split("/")[0] ?? "", state });
    const stacks = graphOf(
      [
        stack("net/a", "up_to_date"),
        stack("net/b", "outdated"),
        stack("net/c", "in_progress"),
        stack("web/a", "up_to_date"),
        stack("web/b", "failed"),
        stack("web/c", "outdated"),
      ],
      [
        ["web/a", "net/a"],
        ["web/b", "net/a"],
        ["web/b", "net/b"],
        ["web/b", "web/a"],
        ["net/c", "web/c"],
      ],
    );
    const closed = groupGraph(stacks, "modules");
    expect(closed.nodes.map(({ id, size, state, states }) => [id, size, state, states])).toEqual([
      ["net", 3, "outdated", { up_to_date: 1, outdated: 1, in_progress: 1 }],
      ["web", 3, "failed", { up_to_date: 1, failed: 1, outdated: 1 }],
    ]);
    // One within a group is none of the picture.
    expect(closed.edges).toEqual([
      [1, 0, 3],
      [0, 1, 1],
    ]);
    // One that is shown beside its group has its own dependencies.
    const beside = groupGraph(stacks, "modules", new Set(["web/b"]));
    expect(beside.nodes.map(({ id, size }) => [id, size])).toEqual([
      ["net", 3],
      ["web", 2],
      ["web/b", 1],
    ]);
    expect(beside.edges).toEqual([
      [1, 0, 1],
      [2, 0, 2],
      [2, 1, 1],
      [0, 1, 1],
    ]);
  });

  it("keeps the width of a group whose members change their states", () => {
    const group = (state: string): Graph =>
      groupGraph(
        graphOf(
          [0, 1].map((at) => node(`p/${at}`, { module: "p", state: at === 0 ? state : "good" })),
          [],
        ),
        "modules",
      );
    expect(layoutGraph(group("failed")).widths).toEqual(layoutGraph(group("good")).widths);
  });

  it("opens one module among others that stay closed", () => {
    const opened = groupGraph(whole, "modules", new Set(["module.m1"]));
    expect(opened.nodes).toHaveLength(99 + 5);
    expect(opened.nodes.filter(({ label }) => label.startsWith("module.m1.t."))).toHaveLength(5);
  });
});

it("writes pictures without markup of names", () => {
  const graph = graphOf([node("a"), node(`<script>"&\u202e`)], [["a", `<script>"&\u202e`]]);
  for (const text of [graphSvg(graph, "<b>"), graphHtml(graph, "<b>")]) {
    expect(text).not.toMatch(/<script|<b>|\u202e/);
    expect(text).toContain("&lt;script&gt;&quot;&amp;");
    expect(text.match(/class="edge"/g)).toHaveLength(1);
  }
});
