import type { Type } from "../type/type.ts";
import { compareTypes } from "./compare-types.ts";

/** Equal types of a sequence, together. */
export interface TypeGroup {
  readonly type: Type;
  /** Positions in the sequence, ascending. */
  readonly positions: number[];
}

/** The distinct types of a sequence, in the order of their first occurrence. */
export function groupTypes(types: readonly Type[]): TypeGroup[] {
  const groups: TypeGroup[] = [];
  const byIdentity = new Map<Type, TypeGroup>();
  const byHash = new Map<number, TypeGroup[]>();
  for (const [position, type] of types.entries()) {
    let group = byIdentity.get(type);
    if (group === undefined) {
      const bucket = byHash.get(type.hash) ?? [];
      group = bucket.find((candidate) => candidate.type.equals(type));
      if (group === undefined) {
        group = { type, positions: [] };
        groups.push(group);
        byHash.set(type.hash, [...bucket, group]);
      }
      byIdentity.set(type, group);
    }
    group.positions.push(position);
  }
  return groups;
}

interface Node {
  readonly group: TypeGroup;
  readonly lessGeneral: Node[];
  /** More general types that are not in the result yet. */
  waiting: number;
  /** Members that the queue has not passed yet. */
  left: number;
}

/**
 * The distinct types in order of preference as the result of unification, the most general first.
 *
 * It is the order in which a breadth-first topological sort of the whole sequence, equal types included, would meet
 * each type first: a type becomes available when the last member of every more general type has been passed. Members of
 * a group become available together, so the sort runs on groups, with cost quadratic in the number of distinct
 * types only.
 */
export function sortTypeGroups(groups: readonly TypeGroup[]): TypeGroup[] {
  const nodes: Node[] = groups.map((group) => ({
    group,
    lessGeneral: [],
    waiting: 0,
    left: group.positions.length,
  }));
  for (const [i, a] of nodes.entries()) {
    for (const b of nodes.slice(i + 1)) {
      const order = compareTypes(a.group.type, b.group.type);
      if (order === 0) continue;
      const [above, below] = order < 0 ? [a, b] : [b, a];
      above.lessGeneral.push(below);
      below.waiting += 1;
    }
  }
  const queue = membersInOrder(nodes.filter((node) => node.waiting === 0));
  const result: TypeGroup[] = [];
  const seen = new Set<Node>();
  for (const node of queue) {
    if (!seen.has(node)) {
      seen.add(node);
      result.push(node.group);
    }
    node.left -= 1;
    if (node.left > 0) continue;
    const available = node.lessGeneral.filter((below) => {
      below.waiting -= 1;
      return below.waiting === 0;
    });
    // The loop also visits the elements that are appended here.
    for (const member of membersInOrder(available)) queue.push(member);
  }
  return result;
}

/** One entry per member, in the order of positions. */
function membersInOrder(nodes: readonly Node[]): Node[] {
  const only = nodes.length === 1 ? nodes[0] : undefined;
  if (only !== undefined) return only.group.positions.map(() => only);
  return nodes
    .flatMap((node) => node.group.positions.map((position) => ({ node, position })))
    .sort((a, b) => a.position - b.position)
    .map(({ node }) => node);
}
