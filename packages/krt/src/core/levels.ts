import { KrtError } from "../errors.ts";
import type { AnyNode } from "./node.ts";

/**
 * Raises the level of `reader` above `source`, and with it, transitively, the levels of all its readers.
 *
 * First it checks whether `source` (indirectly) reads `reader`, which would make the new edge a cycle;
 * no level is raised then, so that the edges that exist keep pointing upwards. Since they do, such a
 * path leads only through nodes below `source`.
 */
export function raiseLevel(reader: AnyNode, source: AnyNode): void {
  const path = pathBetween(reader, source, new Set());
  if (path !== undefined) {
    const cycle = cyclePath([reader, ...path.reverse()]);
    throw new KrtError("KRT_CYCLE", `collections depend on each other: ${cycle.join(" -> ")}`, {
      details: { collection: reader.name, path: cycle },
    });
  }
  raise(reader, source.level + 1);
}

function raise(node: AnyNode, level: number): void {
  if (node.level >= level) return;
  node.level = level;
  for (const edge of node.readers) raise(edge.reader, level + 1);
}

/** The nodes from `from` to `to` along readers, both included. */
function pathBetween(from: AnyNode, to: AnyNode, seen: Set<AnyNode>): AnyNode[] | undefined {
  if (from === to) return [to];
  if (from.level >= to.level || seen.has(from)) return undefined;
  seen.add(from);
  for (const edge of from.readers) {
    const rest = pathBetween(edge.reader, to, seen);
    if (rest !== undefined) return [from, ...rest];
  }
  return undefined;
}

/** Names along a closed path, beginning with its oldest collection, so that a cycle has one text. */
function cyclePath(closed: readonly AnyNode[]): string[] {
  const nodes = closed.slice(0, -1);
  const first = nodes.reduce((best, node, i) => (node.id < (nodes[best]?.id ?? 0) ? i : best), 0);
  const turned = [...nodes.slice(first), ...nodes.slice(0, first)];
  return [...turned, turned[0] as AnyNode].map((node) => node.name);
}
