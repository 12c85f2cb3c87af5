import type { Graph } from "../../graph/graph.ts";
import { layoutGraph } from "../../graph/layout-graph.ts";

// Lays one graph out beside the page.
addEventListener("message", ({ data }: MessageEvent<Graph>) => {
  postMessage(layoutGraph(data));
});
