import { type Graph, type GraphNode, graphOf } from "./graph.ts";

/** What one node of a picture stands for. */
export type GraphLevel = "instances" | "resources" | "modules";

const LEVELS: readonly GraphLevel[] = ["instances", "resources", "modules"];

/** Nodes of one picture: more are neither read by a user nor drawn in time. */
export const MAX_NODES = 800;

/** The finest level whose picture has few enough nodes; modules where none has. */
export function fittingLevel(graph: Graph, maxNodes = MAX_NODES): GraphLevel {
  return LEVELS.find((level) => groupGraph(graph, level).nodes.length <= maxNodes) ?? "modules";
}

/**
 * A graph whose nodes are grouped: instances of a resource, or all of a module. Modules that are `open` keep their resources. Groups
 * depend on each other where any of their nodes do.
 */
export function groupGraph(
  { nodes, edges }: Graph,
  level: GraphLevel,
  open: ReadonlySet<string> = new Set(),
): Graph {
  if (level === "instances") return { nodes, edges };
  const groups = new Map<string, GraphNode>();
  const groupOf = nodes.map((node) => {
    const isModule = level === "modules" && node.module !== "" && !open.has(node.module);
    const key = isModule ? node.module : resourceOf(node.id);
    const known = groups.get(key);
    const size = (known?.size ?? 0) + (node.size ?? 1);
    const label = isModule ? node.module : resourceOf(node.label);
    const state = worse(known?.state, node.state);
    groups.set(key, {
      id: key,
      label,
      module: node.module,
      size,
      ...(state !== undefined && { state }),
    });
    return key;
  });
  const named = edges.map(([from, to]) => [groupOf[from] ?? "", groupOf[to] ?? ""] as const);
  return graphOf([...groups.values()], named);
}

/** The address without the key of its last instance. */
function resourceOf(address: string): string {
  return address.endsWith("]") ? address.slice(0, address.lastIndexOf("[")) : address;
}

/** A group is as its worst member: anything else than `ready` is more worth knowing. */
function worse(known: string | undefined, other: string | undefined): string | undefined {
  return known === undefined || known === "ready" ? other : known;
}
