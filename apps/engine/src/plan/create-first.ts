import { type ConfigGraph, type GraphNode } from "@stackwright/lang";
import { resourceOf } from "../state/check-state.ts";
import { objectKey, type StateObject } from "../state/state-object.ts";
import type { ResourceChange } from "./change.ts";

/**
 * Resources whose replacements are created before the old objects are destroyed, by the id of their node: those that say
 * so, and everything that they depend on. The value is what forces it, absent for those that say so themselves.
 *
 * Reason: if X is created first and needs Y, the old Y has to live until the old X is gone, and the new Y has to be there
 * before the new X; Y cannot be destroyed first.
 */
export function createFirstResources({
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

/**
 * The same along what is recorded: a replacement that creates first, whose old object depends on an object that is
 * replaced destroying first, makes that one create first too. Returns the changes with those orders.
 */
export function spreadAlongState(
  changes: readonly ResourceChange[],
  objects: ReadonlyMap<string, StateObject>,
): readonly ResourceChange[] {
  const byAddress = new Map<string, number>();
  const byResource = new Map<string, number[]>();
  for (const [at, change] of changes.entries()) {
    if (change.deposed !== "" || !isRemoval(change)) continue;
    byAddress.set(change.address, at);
    const resource = resourceOf(change.address);
    const list = byResource.get(resource) ?? [];
    list.push(at);
    byResource.set(resource, list);
  }
  const forcing = new Map<number, string>();
  const open: number[] = [];
  for (const [at, change] of changes.entries()) {
    if (change.action === "replace" && change.order === "create-first") open.push(at);
  }
  const seen = new Set(open);
  for (const at of open) {
    const change = changes[at];
    if (change === undefined) continue;
    const cause = forcing.get(at) ?? change.address;
    const old = objects.get(objectKey(change));
    for (const { address, scope } of old?.dependencies ?? []) {
      const targets =
        scope === "instance" ? [byAddress.get(address)] : (byResource.get(address) ?? []);
      for (const target of targets) {
        if (target === undefined || seen.has(target)) continue;
        seen.add(target);
        open.push(target);
        forcing.set(target, cause);
      }
    }
  }
  if (forcing.size === 0) return changes;
  return changes.map((change, at) => {
    const cause = forcing.get(at);
    if (cause === undefined || change.action !== "replace" || change.order === "create-first")
      return change;
    return {
      ...change,
      order: "create-first",
      createBeforeDestroy: true,
      createBeforeDestroyFor: cause,
    };
  });
}

function isRemoval({ action }: ResourceChange): boolean {
  return action === "replace" || action === "delete" || action === "forget";
}
