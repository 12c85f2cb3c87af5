export type { Graph, GraphNode } from "./graph.ts";
export { graphOf } from "./graph.ts";
export { graphHtml, graphSvg } from "./graph-svg.ts";
export { keepLayout } from "./keep-layout.ts";
export { layoutGraph } from "./layout-graph.ts";
