/** Something that depends on others. */
export interface GraphNode {
  readonly id: string;
  readonly label: string;
  /** Address of the module that it is in; empty for the root. */
  readonly module: string;
  /** How it is: a word for its class and its mark. */
  readonly state?: string | undefined;
  /** How many it stands for. @default 1 */
  readonly size?: number | undefined;
  /** How many of those are in which state. */
  readonly states?: Readonly<Record<string, number>> | undefined;
}

/** `from` depends on `to`; positions of nodes. An edge between groups says how many dependencies it stands for. */
type GraphEdge = readonly [from: number, to: number, count?: number];

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** A graph by the ids of its nodes. What an edge names and the nodes do not have is left out, and so is what depends on itself. */
export function graphOf(
  nodes: readonly GraphNode[],
  edges: Iterable<readonly [from: string, to: string]>,
): Graph {
  const places = new Map(nodes.map(({ id }, place) => [id, place]));
  const found = new Map<string, GraphEdge>();
  for (const [from, to] of edges) {
    const [left, right] = [places.get(from), places.get(to)];
    if (left === undefined || right === undefined || left === right) continue;
    found.set(`${left} ${right}`, [left, right]);
  }
  return { nodes, edges: [...found.values()] };
}
