import type { Graph } from "../../graph/graph.ts";
import { type GraphLayout, NODE_HEIGHT } from "../../graph/layout-graph.ts";

/** How a picture is moved and enlarged. */
export interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export type Direction = "left" | "right" | "up" | "down";

interface Box extends Size {
  readonly left: number;
  readonly top: number;
}

/** Below this scale texts are not read. */
const READABLE = 0.5;
/** Around what is brought into view, in pixels of the screen. */
const AROUND = 24;

/** The whole picture in the middle of the space there is. */
export function fittedView(layout: GraphLayout, size: Size): View {
  return viewOf({ left: 0, top: 0, width: layout.width, height: layout.height }, size, 1.2, 0);
}

/** A view in which some nodes are seen and, where there is room, can be read; undefined where they are already. */
export function viewWith(
  layout: GraphLayout,
  places: readonly number[],
  view: View,
  size: Size,
): View | undefined {
  const box = boxOf(layout, places);
  const [left, top] = [box.left * view.scale + view.x, box.top * view.scale + view.y];
  const isInside =
    left >= 0 &&
    top >= 0 &&
    left + box.width * view.scale <= size.width &&
    top + box.height * view.scale <= size.height;
  const wanted = viewOf(box, size, Math.max(1, view.scale), AROUND);
  return isInside && view.scale >= Math.min(READABLE, wanted.scale) ? undefined : wanted;
}

function viewOf(box: Box, { width, height }: Size, mostScale: number, around: number): View {
  const scale = Math.min(
    mostScale,
    Math.max(1, width - 2 * around) / box.width,
    Math.max(1, height - 2 * around) / box.height,
  );
  return {
    scale,
    x: (width - box.width * scale) / 2 - box.left * scale,
    y: (height - box.height * scale) / 2 - box.top * scale,
  };
}

function boxOf({ x, y, widths }: GraphLayout, places: readonly number[]): Box {
  const left = Math.min(...places.map((at) => x[at] ?? 0));
  const top = Math.min(...places.map((at) => y[at] ?? 0));
  const right = Math.max(...places.map((at) => (x[at] ?? 0) + (widths[at] ?? 0)));
  const bottom = Math.max(...places.map((at) => (y[at] ?? 0) + NODE_HEIGHT));
  return { left, top, width: right - left, height: bottom - top };
}

/**
 * The node that is next to another one in a direction: to the left first among what it needs, to the right among what needs it. Undefined
 * where there is none. Without another one it is the first of the picture.
 */
export function nextNode(
  { nodes, edges }: Graph,
  layout: GraphLayout,
  from: number,
  direction: Direction,
): number | undefined {
  const all = nodes.map((_, at) => at);
  const { x, y } = layout;
  if (from < 0)
    return all.toSorted((a, b) => (x[a] ?? 0) - (x[b] ?? 0) || (y[a] ?? 0) - (y[b] ?? 0))[0];
  const isAcross = direction === "left" || direction === "right";
  const sign = direction === "left" || direction === "up" ? -1 : 1;
  /** How far a node is away in the direction; what is aside counts for more. */
  const distance = (at: number): number => {
    const [dx, dy] = [(x[at] ?? 0) - (x[from] ?? 0), (y[at] ?? 0) - (y[from] ?? 0)];
    const [along, aside] = isAcross ? [dx * sign, dy] : [dy * sign, dx];
    return along > 0 ? along + 3 * Math.abs(aside) : Number.POSITIVE_INFINITY;
  };
  const joined = edges.flatMap(([needing, needed]) =>
    direction === "left" && needing === from
      ? [needed]
      : direction === "right" && needed === from
        ? [needing]
        : [],
  );
  for (const candidates of [joined, all]) {
    let best: number | undefined;
    for (const at of candidates) {
      const isNearer =
        distance(at) < (best === undefined ? Number.POSITIVE_INFINITY : distance(best));
      if (isNearer) best = at;
    }
    if (best !== undefined) return best;
  }
  return undefined;
}
