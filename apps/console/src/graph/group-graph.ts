import type { Graph, GraphNode } from "./graph.ts";
import { worseState } from "./node-state.ts";

/** What one node of a picture stands for. */
export type GraphLevel = "instances" | "resources" | "modules" | "kinds";

/** The finest first. */
const LEVELS: readonly GraphLevel[] = ["instances", "resources", "modules", "kinds"];

/** Nodes of one picture: more are neither read by a user nor drawn in time. */
export const MAX_NODES = 800;

/** The finest of some levels whose picture has few enough nodes; the last one where none has. */
export function fittingLevel(
  graph: Graph,
  maxNodes = MAX_NODES,
  levels: readonly GraphLevel[] = LEVELS,
): GraphLevel {
  const found = levels.find((level) => groupGraph(graph, level).nodes.length <= maxNodes);
  return found ?? levels.at(-1) ?? "kinds";
}

/**
 * A graph whose nodes are grouped: instances of a resource, all of a module, or (kinds) all instances of a module of the root, and of the
 * other resources all of one type. Groups that are `open` keep their resources, and so does a closed group those that are open
 * themselves. Groups depend on each other as often as their nodes do.
 */
export function groupGraph(
  { nodes, edges }: Graph,
  level: GraphLevel,
  open: ReadonlySet<string> = new Set(),
): Graph {
  if (level === "instances") return { nodes, edges };
  const groups = new Map<string, { node: GraphNode; readonly place: number }>();
  const placeOf = nodes.map((node) => {
    const own = idAt(node, level);
    const group = groupName(node, level);
    const isGrouped = group !== undefined && !open.has(group) && !open.has(own);
    const id = isGrouped ? group : own;
    const label = isGrouped ? group : resourceOf(node.label);
    const known = groups.get(id);
    if (known === undefined) {
      groups.set(id, {
        node: { ...node, id, label, size: node.size ?? 1, states: statesOf(node) },
        place: groups.size,
      });
      return groups.size - 1;
    }
    known.node = merged(known.node, node);
    return known.place;
  });
  const counts = new Map<number, number>();
  for (const [from, to, count = 1] of edges) {
    const [left, right] = [placeOf[from], placeOf[to]];
    if (left === undefined || right === undefined || left === right) continue;
    const key = left * groups.size + right;
    counts.set(key, (counts.get(key) ?? 0) + count);
  }
  return {
    nodes: Array.from(groups.values(), ({ node }) => node),
    edges: Array.from(counts, ([key, count]) => [
      Math.floor(key / groups.size),
      key % groups.size,
      count,
    ]),
  };
}

function statesOf({ state, states, size = 1 }: GraphNode): Readonly<Record<string, number>> {
  return states ?? (state === undefined ? {} : { [state]: size });
}

/** A group with one more member: it is as its worst one. */
function merged(group: GraphNode, member: GraphNode): GraphNode {
  const states: Record<string, number> = { ...group.states };
  for (const [state, count] of Object.entries(statesOf(member))) {
    states[state] = (states[state] ?? 0) + count;
  }
  return {
    ...group,
    size: (group.size ?? 1) + (member.size ?? 1),
    state: worseState(group.state, member.state),
    states,
  };
}

/** What a node is named by in the picture of a level, where its group is open. */
export function idAt({ id }: Pick<GraphNode, "id">, level: GraphLevel): string {
  return level === "instances" ? id : resourceOf(id);
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
