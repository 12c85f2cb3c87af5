import type { Graph } from "./graph.ts";
import { edgePath, layoutGraph, NODE_HEIGHT, nodeText } from "./layout-graph.ts";

const STYLE = `svg{color-scheme:light dark;font:12px ui-monospace,Menlo,Consolas,monospace;background:light-dark(#fff,#181c23)}
.edge{fill:none;stroke:light-dark(#8a93a2,#6a7485)}rect{fill:light-dark(#eef0f4,#222833);stroke:light-dark(#8a93a2,#6a7485)}
text{fill:light-dark(#1a1f29,#e5e9f0)}`;

/** A graph as a picture: one SVG document without scripts and without anything to load. */
export function graphSvg(graph: Graph, title: string): string {
  const layout = layoutGraph(graph);
  const { x, y, widths, width, height } = layout;
  const edges = graph.edges.map(
    ([from, to]) => `<path class="edge" d="${edgePath(layout, from, to)}"/>`,
  );
  const nodes = graph.nodes.map((node, place) => {
    const [left, top] = [x[place] ?? 0, y[place] ?? 0];
    return `<g><title>${escape(node.id)}</title><rect x="${left}" y="${top}" width="${Math.round(widths[place] ?? 0)}" height="${NODE_HEIGHT}" rx="5"/><text x="${left + 10}" y="${top + 17}">${escape(nodeText(node))}</text></g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(height)}" viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" role="img" aria-label="${escape(title)}"><style>${STYLE}</style>
${edges.join("\n")}
${nodes.join("\n")}
</svg>
`;
}

/** The same picture as a page of its own. */
export function graphHtml(graph: Graph, title: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escape(title)}</title>
<style>:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}main{overflow:auto}</style></head>
<body><h1>${escape(title)}</h1>
<main>${graphSvg(graph, title)}</main></body></html>
`;
}

function escape(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "�")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
