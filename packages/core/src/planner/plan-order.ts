import type { Configuration } from "../configuration/configuration.ts";
import type { Drift, ResourceChange } from "../plan/change.ts";
import type { PlannedExpansion } from "../plan/plan.ts";
import type { CheckResult } from "../state/check-result.ts";
import { objectKey } from "../state/state-object.ts";
import { localName } from "./local-name.ts";
import type { PlanRun } from "./plan-run.ts";

// Nodes are visited at the same time, so that their results come in the order in which providers answer. A plan has them in
// that of the configuration.

export function expansionsInOrder(
  { expansions, world }: PlanRun,
  { graph }: Configuration,
): readonly PlannedExpansion[] {
  const left = new Map(expansions.map((one) => [one.address, one]));
  const sorted: PlannedExpansion[] = [];
  for (const node of graph.order) {
    if (node.kind !== "resource" && node.kind !== "module") continue;
    for (const module of world.modules(node.module.path)) {
      const name = node.kind === "module" ? `module.${node.call.name}` : localName(node.resource);
      const address = module.addressOf(name);
      const found = left.get(address);
      if (found === undefined) continue;
      left.delete(address);
      sorted.push(found);
    }
  }
  return [...sorted, ...left.values()];
}

export function driftInOrder(
  drift: readonly Drift[],
  changes: readonly ResourceChange[],
): readonly Drift[] {
  if (drift.length < 2) return drift;
  const positions = new Map(changes.map((change, at) => [objectKey(change), at]));
  const place = (one: Drift): number => positions.get(objectKey(one)) ?? changes.length;
  return drift.toSorted((a, b) => place(a) - place(b) || (objectKey(a) < objectKey(b) ? -1 : 1));
}

export function checksInOrder(
  { checks, world }: PlanRun,
  { graph }: Configuration,
): readonly CheckResult[] {
  if (checks.length < 2) return checks;
  const left = Map.groupBy(checks, ({ address }) => address);
  const sorted: CheckResult[] = [];
  const take = (address: string): void => {
    sorted.push(...(left.get(address) ?? []));
    left.delete(address);
  };
  for (const node of graph.order) {
    for (const module of world.modules(node.module.path)) {
      if (node.kind === "resource") {
        const slots = module.resources.get(localName(node.resource))?.slots ?? new Map();
        for (const { address } of slots.values()) take(address);
      } else if (node.kind === "validation") take(module.addressOf(`var.${node.variable.name}`));
      else if (node.kind === "output") take(module.addressOf(`output.${node.output.name}`));
      else if (node.kind === "check") take(module.addressOf(`check.${node.check.name}`));
    }
  }
  return [...sorted, ...[...left.values()].flat()];
}

/** Changes in the order of the graph and of the instances; the end of objects without a declaration last. */
export function changesInOrder(run: PlanRun, { graph }: Configuration): readonly ResourceChange[] {
  const sorted = new Set<ResourceChange>();
  for (const node of graph.order) {
    if (node.kind !== "resource") continue;
    const local = localName(node.resource);
    for (const module of run.world.modules(node.module.path)) {
      for (const slot of module.resources.get(local)?.slots.values() ?? []) {
        const change = run.bySlot.get(slot);
        if (change !== undefined) sorted.add(change);
      }
    }
  }
  const rest = [...run.changes].filter(([, change]) => !sorted.has(change));
  rest.sort(([a], [b]) => (a < b ? -1 : 1));
  return [...sorted, ...rest.map(([, change]) => change)];
}
