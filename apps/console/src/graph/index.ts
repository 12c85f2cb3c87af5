export type { Graph, GraphNode } from "./graph.ts";
export { graphOf } from "./graph.ts";
export { graphHtml, graphSvg } from "./graph-svg.ts";
