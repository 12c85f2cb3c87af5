import type { AnyNode } from "../core/node.ts";
import { filterClass } from "./describe-filter.ts";
import { queriesBetween } from "./queries-between.ts";

/** What is drawn of one edge. */
interface DrawnEdge {
  readonly from: AnyNode;
  readonly to: AnyNode;
  readonly dotted: boolean;
  readonly label: string;
}

/** The graph in Mermaid's language. The order is that of creation, so that equal graphs give equal texts. */
export function mermaidDiagram(nodes: readonly AnyNode[]): string {
  const lines = ["flowchart LR"];
  for (const node of nodes) {
    const [open, close] = mermaidShape(node);
    const text = `${mermaidText(node.name)}<br/>${node.type} ${node.size}`;
    lines.push(`  n${node.id}${open}"${text}"${close}:::${stateClass(node)}`);
  }
  for (const { from, to, dotted, label } of edgesOf(nodes)) {
    const arrow = dotted ? "-.->" : "-->";
    const shown = label === "" ? "" : `|"${mermaidText(label)}"|`;
    lines.push(`  n${from.id} ${arrow}${shown} n${to.id}`);
  }
  lines.push("  classDef synced stroke:#2a2", "  classDef waiting stroke:#c60,stroke-dasharray:4");
  return `${lines.join("\n")}\n`;
}

/** The graph in Graphviz' language, in the same order. */
export function dotDiagram(nodes: readonly AnyNode[]): string {
  const lines = ["digraph krt {", "  rankdir=LR;", "  node [shape=box];"];
  for (const node of nodes) {
    const label = dotText(`${node.name}\n${node.type} ${node.size}`);
    const style = node.synced ? "" : ", style=dashed";
    const shape = isSource(node) ? ", shape=cylinder" : "";
    lines.push(`  n${node.id} [label=${label}${shape}${style}];`);
  }
  for (const { from, to, dotted, label } of edgesOf(nodes)) {
    const parts = [dotted ? "style=dotted" : "", label === "" ? "" : `label=${dotText(label)}`];
    const given = parts.filter((part) => part !== "").join(", ");
    lines.push(`  n${from.id} -> n${to.id}${given === "" ? "" : ` [${given}]`};`);
  }
  return `${lines.join("\n")}\n}\n`;
}

function edgesOf(nodes: readonly AnyNode[]): DrawnEdge[] {
  return nodes.flatMap((node) =>
    node.inputs.map(({ source, reader, type, count }) => ({
      from: source,
      to: reader,
      dotted: type !== "input",
      label: type === "input" ? "" : `${classesBetween(source, reader)} x${count}`,
    })),
  );
}

/** The kinds of filters by which one collection fetches from another. */
function classesBetween(source: AnyNode, reader: AnyNode): string {
  const classes = new Set<string>();
  for (const query of queriesBetween(source, reader)) {
    classes.add(query.filters.map(filterClass).join("+") || "all");
  }
  return [...classes].sort().join(", ");
}

function isSource(node: AnyNode): boolean {
  return node.inputs.length === 0 && node.level === 0;
}

function stateClass(node: AnyNode): string {
  return node.synced ? "synced" : "waiting";
}

function mermaidShape(node: AnyNode): readonly [string, string] {
  if (isSource(node)) return ["[(", ")]"];
  if (node.type === "join" || node.type === "nested-join") return ["{{", "}}"];
  return ["[", "]"];
}

function mermaidText(text: string): string {
  return text.replaceAll('"', "#quot;").replaceAll("\n", " ");
}

function dotText(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}
