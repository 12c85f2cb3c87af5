import { KrtError } from "../errors.ts";
import type { AnyNode } from "./node.ts";

/**
 * Lifts `reader` above `source`, and with it, transitively, everything that reads `reader`.
 *
 * Meeting `source` on the way means that it (indirectly) reads `reader`: a cycle. Since every edge
 * points upwards, such a path exists only where `source.level >= reader.level`, and then each node on it
 * is below the level asked of it, so the search cannot pass it by. Levels lifted before a cycle is found
 * stay: a level that is higher than needed costs nothing but its place in the queue.
 */
export function liftAbove(reader: AnyNode, source: AnyNode): void {
  const path: AnyNode[] = [];
  if (!lift(reader, source.level + 1, source, path)) return;
  const cycle = cyclePath([reader, ...path.reverse()]);
  throw new KrtError("KRT_CYCLE", `collections depend on each other: ${cycle.join(" -> ")}`, {
    details: { collection: reader.name, path: cycle },
  });
}

function lift(node: AnyNode, level: number, target: AnyNode, path: AnyNode[]): boolean {
  path.push(node);
  if (node === target) return true;
  if (node.level < level) {
    node.level = level;
    for (const edge of node.readers) {
      if (lift(edge.reader, level + 1, target, path)) return true;
    }
  }
  path.pop();
  return false;
}

/** Names along a closed path, beginning with its oldest collection, so that a cycle has one text. */
function cyclePath(closed: readonly AnyNode[]): string[] {
  const nodes = closed.slice(0, -1);
  const first = nodes.reduce((best, node, i) => (node.id < (nodes[best]?.id ?? 0) ? i : best), 0);
  const turned = [...nodes.slice(first), ...nodes.slice(0, first)];
  return [...turned, turned[0] as AnyNode].map((node) => node.name);
}
