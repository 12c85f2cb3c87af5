import type { ConfigGraph, GraphNode } from "@stackwright/lang";

/**
 * Resources whose replacements are created before the old objects are destroyed, by the id of their node: those that say
 * so, and everything that they depend on. The value is what forces it, absent for those that say so themselves.
 *
 * Reason: if X is created first and needs Y, the old Y has to live until the old X is gone, and the new Y has to be there
 * before the new X; Y cannot be destroyed first.
 */
export function createBeforeDestroyResources({
  order,
}: ConfigGraph): ReadonlyMap<string, string | undefined> {
  const forced = new Map<string, string | undefined>();
  const reached = new Map<GraphNode, string>();
  // Dependents come last in the order, so that one walk backwards reaches everything.
  for (const node of order.toReversed()) {
    const own = node.kind === "resource" && node.resource.lifecycle.createBeforeDestroy === true;
    const cause = own ? node.id : reached.get(node);
    if (own) forced.set(node.id, undefined);
    else if (cause !== undefined && node.kind === "resource" && node.resource.mode === "managed") {
      forced.set(node.id, cause);
    }
    if (cause === undefined) continue;
    for (const dependency of node.dependencies.keys()) {
      if (!reached.has(dependency)) reached.set(dependency, cause);
    }
  }
  return forced;
}
