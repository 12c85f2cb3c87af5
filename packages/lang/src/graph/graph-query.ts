import type { Address } from "../address/address.ts";
import { resourceAddress } from "../config/check-references.ts";
import type { ConfigGraph } from "./build-graph.ts";
import { resourceId } from "./declare-nodes.ts";
import type { GraphNode } from "./graph-node.ts";

/** All nodes that the given ones need, themselves included: what a run with targets is about. */
export function graphClosure(
  nodes: Iterable<GraphNode>,
  direction: "dependencies" | "dependents" = "dependencies",
): ReadonlySet<GraphNode> {
  const closure = new Set(nodes);
  for (const node of closure) {
    // A set that grows while it is walked is walked to its end.
    for (const next of node[direction].keys()) closure.add(next);
  }
  return closure;
}

/** The nodes that an address stands for: a resource, or everything in a module. */
export function nodesOf({ nodes }: ConfigGraph, address: Address): GraphNode[] {
  const path = address.module.map(({ name }) => name);
  if (address.kind === "module") {
    return [...nodes.values()].filter((node) => {
      const own = "child" in node ? node.child.path : node.module.path;
      return path.every((name, at) => own[at] === name);
    });
  }
  const prefix = path.map((name) => `module.${name}.`).join("");
  const node = nodes.get(prefix + resourceId(resourceAddress(address)));
  return node === undefined ? [] : [node];
}
