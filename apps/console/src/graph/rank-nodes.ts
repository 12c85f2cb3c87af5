import type { Graph } from "./graph.ts";

/** Positions of the nodes that each node is joined with. */
interface Neighbors {
  readonly needs: readonly (readonly number[])[];
  readonly neededBy: readonly (readonly number[])[];
}

export function neighborsOf({ nodes, edges }: Graph): Neighbors {
  const needs: number[][] = Array.from(nodes, () => []);
  const neededBy: number[][] = Array.from(nodes, () => []);
  for (const [from, to] of edges) {
    needs[from]?.push(to);
    neededBy[to]?.push(from);
  }
  return { needs, neededBy };
}

/** The longest path to each node from one that needs nothing. Edges that close a cycle do not count. Without recursion: chains may be long. */
export function ranksOf(needs: readonly (readonly number[])[]): Int32Array {
  const ranks = new Int32Array(needs.length);
  /** 0: not visited; 1: on the path; 2: done. */
  const states = new Uint8Array(needs.length);
  const next = new Int32Array(needs.length);
  for (let start = 0; start < needs.length; start += 1) {
    if (states[start] !== 0) continue;
    const path = [start];
    states[start] = 1;
    while (path.length > 0) {
      const node = path.at(-1) as number;
      const needed = needs[node] ?? [];
      const at = next[node] ?? 0;
      if (at >= needed.length) {
        states[node] = 2;
        path.pop();
        const above = path.at(-1);
        if (above !== undefined) ranks[above] = Math.max(ranks[above] ?? 0, (ranks[node] ?? 0) + 1);
        continue;
      }
      next[node] = at + 1;
      const dependency = needed[at] as number;
      if (states[dependency] === 0) {
        states[dependency] = 1;
        path.push(dependency);
      } else if (states[dependency] === 2) {
        ranks[node] = Math.max(ranks[node] ?? 0, (ranks[dependency] ?? 0) + 1);
      }
    }
  }
  return ranks;
}
