import type { Graph, GraphNode } from "./graph.ts";
import { neighborsOf, ranksOf } from "./rank-nodes.ts";

/** Where nodes are, in pixels: the left upper corner of each. */
export interface GraphLayout {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly widths: Float64Array;
  readonly width: number;
  readonly height: number;
}

export const NODE_HEIGHT = 26;
/** From the top of a node to that of the next one. */
export const ROW = 38;
export const COLUMN_GAP = 70;
/** Between columns of one rank, which no edge joins. */
export const WRAP_GAP = 14;
export const MARGIN = 16;
/** Nodes of a column: a rank with more is several columns. */
export const MAX_ROWS = 48;
const SWEEPS = 6;
const CHARACTER = 7.3;
const MAX_LABEL = 46;

/** The text of a node: labels that are too long lose their middle. */
export function nodeText({ label, size = 1 }: Pick<GraphNode, "label" | "size">): string {
  const short =
    label.length <= MAX_LABEL
      ? label
      : `${label.slice(0, MAX_LABEL / 2 - 1)}…${label.slice(-MAX_LABEL / 2)}`;
  return size > 1 ? `${short} ×${size}` : short;
}

/** With room for the sign of the state, and for how many of a group are in it: what changes its state keeps its width. */
export function widthsOf(nodes: readonly GraphNode[]): Float64Array {
  return Float64Array.from(nodes, (node) => {
    const { size = 1, state } = node;
    const counted = size > 1 && state !== undefined ? `${size}`.length : 0;
    return (nodeText(node).length + counted) * CHARACTER + 34;
  });
}

/**
 * A layered layout: what others depend on is left of them. Ranks by the longest path, the order within a rank by the mean of the
 * neighbours. Edges that close a cycle count for the picture alone. Linear but for the sorting of ranks.
 */
export function layoutGraph(graph: Graph): GraphLayout {
  const { nodes } = graph;
  const count = nodes.length;
  const { needs, neededBy } = neighborsOf(graph);
  const ranks = ranksOf(needs);
  const columns: number[][] = [];
  for (let node = 0; node < count; node += 1) {
    const rank = ranks[node] ?? 0;
    (columns[rank] ??= []).push(node);
  }
  orderColumns(columns, needs, neededBy);

  const widths = widthsOf(nodes);
  const [x, y] = [new Float64Array(count), new Float64Array(count)];
  const tallest = Math.min(MAX_ROWS, Math.max(1, ...columns.map((column) => column.length)));
  const height = tallest * ROW + MARGIN * 2;
  let left = MARGIN;
  for (const column of columns) {
    for (let first = 0; first < column.length; first += MAX_ROWS) {
      const part = column.slice(first, first + MAX_ROWS);
      const top = (height - part.length * ROW) / 2;
      let widest = 0;
      for (const [row, node] of part.entries()) {
        x[node] = left;
        y[node] = top + row * ROW;
        widest = Math.max(widest, widths[node] ?? 0);
      }
      left += widest + (first + MAX_ROWS < column.length ? WRAP_GAP : COLUMN_GAP);
    }
  }
  return { x, y, widths, width: Math.max(left - COLUMN_GAP + MARGIN, 100), height };
}

function orderColumns(
  columns: readonly number[][],
  needs: readonly (readonly number[])[],
  neededBy: readonly (readonly number[])[],
): void {
  const places = new Float64Array(needs.length);
  const note = (column: readonly number[]): void => {
    for (const [row, node] of column.entries()) places[node] = row / column.length;
  };
  for (const column of columns) note(column);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isForward = sweep % 2 === 0;
    const neighbors = isForward ? needs : neededBy;
    for (const column of isForward ? columns : columns.toReversed()) {
      const means = new Map(
        column.map((node): [number, number] => {
          const near = neighbors[node] ?? [];
          const sum = near.reduce((total, one) => total + (places[one] ?? 0), 0);
          return [node, near.length === 0 ? (places[node] ?? 0) : sum / near.length];
        }),
      );
      column.sort((one, other) => (means.get(one) ?? 0) - (means.get(other) ?? 0));
      note(column);
    }
  }
}

/** The line of an edge: from the left side of what depends to the right side of what it needs. */
export function edgePath({ x, y, widths }: GraphLayout, from: number, to: number): string {
  const [x1, y1] = [x[from] ?? 0, (y[from] ?? 0) + NODE_HEIGHT / 2];
  const [x2, y2] = [(x[to] ?? 0) + (widths[to] ?? 0), (y[to] ?? 0) + NODE_HEIGHT / 2];
  const bend = Math.max(24, Math.abs(x1 - x2) / 2);
  return `M${round(x1)} ${round(y1)}C${round(x1 - bend)} ${round(y1)} ${round(x2 + bend)} ${round(y2)} ${round(x2)} ${round(y2)}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
