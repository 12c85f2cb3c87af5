import {
  bodyReferences,
  expressionReferences,
  type GraphNode,
  graphClosure,
  parseReference,
  resourceAddress,
} from "@stackwright/lang";
import type { ResourceValues } from "../walk/resource-values.ts";
import type { PlanRun } from "./plan-run.ts";

type ResourceNode = Extract<GraphNode, { kind: "resource" }>;

/**
 * Whether the read of a data source has to wait for changes of managed resources besides those that it explicitly depends on: of one
 * that its block refers to directly, in any instance, as what is read may differ once it was changed. Where the data source has
 * conditions, of everything that it depends on, as a change there may be what makes them pass.
 */
export function hasPendingChanges(
  run: PlanRun,
  node: ResourceNode,
  { module }: ResourceValues,
): boolean {
  const { lifecycle } = node.resource;
  if (lifecycle.preconditions.length + lifecycle.postconditions.length > 0) {
    return hasChangesAbove(run, node, module.address);
  }
  const { count, forEach, body } = node.resource;
  const repetition = [count, forEach].flatMap((one) => (one ? expressionReferences(one) : []));
  return [...repetition, ...bodyReferences(body)].some((traversal) => {
    const subject = parseReference(traversal)?.subject;
    if (subject?.kind !== "resource" || subject.mode !== "managed") return false;
    const resource = module.resources.get(resourceAddress(subject));
    return resource !== undefined && run.changed.has(resource);
  });
}

/** Changes of other instances of its own module do not count: nothing leads from one to the other. */
function hasChangesAbove(run: PlanRun, node: ResourceNode, module: string): boolean {
  if (run.changed.size === 0) return false;
  const above = new Set(
    [...graphClosure([node])].flatMap((one) => (one.kind === "resource" ? [one.resource] : [])),
  );
  const path = pathText(node.module.path);
  for (const { config, module: other } of run.changed) {
    if (config?.mode !== "managed" || !above.has(config)) continue;
    if (pathText(other.node.path) !== path || other.address === module) return true;
  }
  return false;
}

function pathText(path: readonly string[]): string {
  return JSON.stringify(path);
}
