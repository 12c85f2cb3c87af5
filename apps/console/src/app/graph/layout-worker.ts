import type { Graph } from "../../graph/graph.ts";
import { keepLayout, type LaidOut } from "../../graph/keep-layout.ts";
import { layoutGraph } from "../../graph/layout-graph.ts";

/** A graph to be laid out, and what the user has seen of it before. */
export interface LayoutRequest {
  readonly graph: Graph;
  readonly former: LaidOut | undefined;
}

// Lays one graph out beside the page.
addEventListener("message", ({ data: { graph, former } }: MessageEvent<LayoutRequest>) => {
  postMessage(former === undefined ? layoutGraph(graph) : keepLayout(graph, former));
});
