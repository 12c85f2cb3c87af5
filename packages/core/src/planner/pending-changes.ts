import {
  bodyReferences,
  configAddress,
  expressionReferences,
  formatAddress,
  type GraphNode,
  graphClosure,
  parseAddress,
  parseReference,
  resourceAddress,
} from "@stackwright/lang";
import type { Dependency } from "../state/state-object.ts";
import type { ModuleInstance } from "../walk/module-instance.ts";
import type { Target } from "../walk/recorder.ts";
import type { ResourceValues } from "../walk/resource-values.ts";
import { localName } from "./local-name.ts";
import type { PlanRun } from "./plan-run.ts";

type ResourceNode = Extract<GraphNode, { kind: "resource" }>;

/**
 * Managed resources with changes that the read of a data source has to wait for, besides those that it explicitly depends on: those
 * that its block refers to directly, in any instance, as what is read may differ once they were changed. Where the data source
 * has conditions, all that it depends on, as a change there may be what makes them pass.
 */
export function pendingChanges(
  run: PlanRun,
  node: ResourceNode,
  { module }: ResourceValues,
): ReadonlySet<ResourceValues> {
  if (run.changed.size === 0) return new Set();
  const { lifecycle } = node.resource;
  const all =
    lifecycle.preconditions.length + lifecycle.postconditions.length > 0
      ? resourcesAbove(run, node, module)
      : resourcesNamed(node, module);
  return new Set([...all].filter((one) => run.changed.has(one)));
}

/**
 * The resources in instances of modules that are no more, of what the read of a data source explicitly depends on. Their objects are
 * deleted, and nothing of the configuration stands for them any more.
 */
export function endedResources(
  run: PlanRun,
  { resource: { dependsOn } }: ResourceNode,
  { module }: ResourceValues,
): readonly string[] {
  return dependsOn.flatMap((traversal) => {
    const subject = parseReference(traversal)?.subject;
    const call = subject?.kind === "module" ? module.calls.get(subject.name) : undefined;
    return call === undefined ? [] : run.resourcesOfEndedModules(call.address);
  });
}

/** Dependencies on ended resources of which no other instance is depended on: a read waits for those that are deleted in all instances. */
export function dependenciesOnEnded(
  ended: readonly string[],
  explicit: Iterable<Target>,
): readonly Dependency[] {
  if (ended.length === 0) return [];
  const known = new Set(Array.from(explicit, ({ address }) => configurationOf(address)));
  return ended.flatMap((address): Dependency[] => {
    const configured = configurationOf(address);
    if (known.has(configured)) return [];
    known.add(configured);
    return [{ address, scope: "resource", kind: "explicit" }];
  });
}

function configurationOf(address: string): string {
  const { value } = parseAddress(address);
  return value?.kind === "resource" ? formatAddress(configAddress(value)) : address;
}

function* resourcesNamed(
  { resource: { count, forEach, body } }: ResourceNode,
  module: ModuleInstance,
): Generator<ResourceValues> {
  const repetition = [count, forEach].flatMap((one) => (one ? expressionReferences(one) : []));
  for (const traversal of [...repetition, ...bodyReferences(body)]) {
    const subject = parseReference(traversal)?.subject;
    if (subject?.kind !== "resource" || subject.mode !== "managed") continue;
    const resource = module.resources.get(resourceAddress(subject));
    if (resource !== undefined) yield resource;
  }
}

/** Those of other instances of its own module do not count: nothing leads from one to the other. */
function* resourcesAbove(
  run: PlanRun,
  node: ResourceNode,
  module: ModuleInstance,
): Generator<ResourceValues> {
  for (const one of graphClosure([node])) {
    if (one.kind !== "resource" || one.resource.mode !== "managed") continue;
    for (const other of run.world.modules(one.module.path)) {
      if (one.module === node.module && other !== module) continue;
      const resource = other.resources.get(localName(one.resource));
      if (resource !== undefined) yield resource;
    }
  }
}
