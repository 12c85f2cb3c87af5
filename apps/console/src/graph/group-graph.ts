import { type Graph, type GraphNode, graphOf } from "./graph.ts";

/** What one node of a picture stands for. */
export type GraphLevel = "instances" | "resources" | "modules" | "kinds";

/** The finest first. */
const LEVELS: readonly GraphLevel[] = ["instances", "resources", "modules", "kinds"];

/** Nodes of one picture: more are neither read by a user nor drawn in time. */
export const MAX_NODES = 800;

/** The finest level whose picture has few enough nodes; kinds where none has. */
export function fittingLevel(graph: Graph, maxNodes = MAX_NODES): GraphLevel {
  return LEVELS.find((level) => groupGraph(graph, level).nodes.length <= maxNodes) ?? "kinds";
}

/**
 * A graph whose nodes are grouped: instances of a resource, all of a module, or (kinds) all instances of a module of the root, and of the
 * other resources all of one type. Groups that are `open` keep their resources. Groups depend on each other where any of their nodes do.
 */
export function groupGraph(
  { nodes, edges }: Graph,
  level: GraphLevel,
  open: ReadonlySet<string> = new Set(),
): Graph {
  if (level === "instances") return { nodes, edges };
  const groups = new Map<string, GraphNode>();
  const groupOf = nodes.map((node) => {
    const group = groupName(node, level);
    const isGrouped = group !== undefined && !open.has(group);
    const key = isGrouped ? group : resourceOf(node.id);
    const known = groups.get(key);
    const size = (known?.size ?? 0) + (node.size ?? 1);
    const label = isGrouped ? group : resourceOf(node.label);
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

/** The group of a node above its resource; undefined where the level has none for it. */
export function groupName(
  { id, module }: Pick<GraphNode, "id" | "module">,
  level: GraphLevel,
): string | undefined {
  if (level === "modules") return module === "" ? undefined : module;
  if (level !== "kinds") return undefined;
  const outermost = /^module\.[^.[]+/.exec(module)?.[0];
  if (outermost !== undefined) return outermost;
  return /^(?:data\.|ephemeral\.)?[^.[]+/.exec(id)?.[0];
}

/** The address without the key of its last instance. */
function resourceOf(address: string): string {
  return address.endsWith("]") ? address.slice(0, address.lastIndexOf("[")) : address;
}

/** A group is as its worst member: anything else than `ready` is more worth knowing. */
function worse(known: string | undefined, other: string | undefined): string | undefined {
  return known === undefined || known === "ready" ? other : known;
}
