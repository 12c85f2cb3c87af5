import { forEachLimited } from "@stackwright/base/limiter";
import { type GraphNode } from "@stackwright/lang";
import type { Configuration } from "../configuration/configuration.ts";
import type { ResourceChange } from "../plan/change.ts";
import { isPlaceholder, type StateObject } from "../state/state-object.ts";
import { fillResource } from "../walk/load-state.ts";
import { walkGraph } from "../walk/ready-queue.ts";
import type { ResourceValues } from "../walk/resource-values.ts";
import { partsOf, previousOf, readAndRecordDrift } from "./plan-removal.ts";
import type { PlanRun } from "./plan-run.ts";
import { visitNode } from "./plan-walk.ts";
import type { Selection } from "./selection.ts";

type ResourceNode = Extract<GraphNode, { kind: "resource" }>;

/**
 * Reads the recorded objects and the data sources of the configuration, in the order of the graph: a data source is
 * read with the refreshed values of its references, and a provider is configured with the current values of its data
 * sources. The evaluation context has to hold the recorded objects before, and holds the refreshed ones afterwards, so
 * that outputs are evaluated over the latter.
 */
export async function refreshWalk(
  run: PlanRun,
  { graph }: Configuration,
  selection: Selection,
): Promise<void> {
  const left = new Set(
    [...run.given.objects.values()].filter(({ address }) =>
      selection.includesAddress(address, false),
    ),
  );
  const take = (address: string): readonly StateObject[] =>
    run.objectsOf(address).filter((object) => left.delete(object));
  const positions = new Map(graph.order.map((node, at) => [node, at]));
  await walkGraph(
    {
      size: graph.order.length,
      next: graph.order.map(({ dependents }) =>
        [...dependents].flatMap((dependent) => positions.get(dependent) ?? []),
      ),
    },
    {
      run: async (at) => {
        const node = graph.order[at];
        if (node?.kind === "module") {
          for (const module of run.world.modules(node.module.path))
            module.calls.get(node.call.name)?.expandUnlessDone();
        } else if (node?.kind === "resource" && node.resource.mode === "data") {
          if (selection.includesNode(node)) await visitNode(run, node);
        } else if (node?.kind === "resource" && node.resource.mode === "managed") {
          for (const resource of resourcesOf(run, node)) {
            await refreshResource(run, resource, take(resource.address));
          }
        }
      },
      ...(run.given.signal && { stop: run.given.signal }),
    },
  );
  // Objects that no longer have a block.
  await refreshObjects(run, left);
}

function resourcesOf(run: PlanRun, { module, resource }: ResourceNode): readonly ResourceValues[] {
  const name = `${resource.type}.${resource.name}`;
  return run.world.modules(module.path).flatMap((instance) => instance.resources.get(name) ?? []);
}

/** Reads the objects of a resource; afterwards it has the instances that exist. */
async function refreshResource(
  run: PlanRun,
  resource: ResourceValues,
  objects: readonly StateObject[],
): Promise<void> {
  const changes = await refreshObjects(run, objects);
  const gone = new Set(
    changes.flatMap(({ address, deposed, after }) =>
      deposed === "" && after === undefined ? [address] : [],
    ),
  );
  const found = new Map(
    changes.flatMap(({ address, deposed, after }) =>
      deposed === "" && after !== undefined ? [[address, after] as const] : [],
    ),
  );
  const entries = [...resource.slots].flatMap(([key, { address, value }]) => {
    const now = found.get(address) ?? value;
    return now === undefined || gone.has(address) ? [] : [{ key, value: now }];
  });
  if (entries.length > 0) fillResource(resource, entries);
  else resource.expandIfEmpty();
}

async function refreshObjects(
  run: PlanRun,
  objects: Iterable<StateObject>,
): Promise<readonly ResourceChange[]> {
  const changes: ResourceChange[] = [];
  await forEachLimited([...objects], run.given.parallelism, async (object) => {
    const change = await planRefresh(run, object);
    if (change === undefined) return;
    changes.push(change);
    run.plan(change);
  });
  return changes;
}

async function planRefresh(run: PlanRun, object: StateObject): Promise<ResourceChange | undefined> {
  if (object.mode === "data" || isPlaceholder(object) || object.value === undefined)
    return undefined;
  const ready = await run.providerOfObject(object);
  if (ready === undefined) return undefined;
  const schema = ready.use.typeSchema(object.mode, object.type);
  if (schema === undefined) {
    run.fail("Unknown resource type", `There is no resource type "${object.type}".`, {
      address: object.address,
    });
    return undefined;
  }
  const seen = await readAndRecordDrift(run, object, ready);
  if (seen === undefined) return undefined;
  const previousAddress = previousOf(run, object);
  return {
    ...partsOf(object.address),
    ...(previousAddress !== undefined && { previousAddress }),
    address: object.address,
    deposed: object.deposed,
    mode: object.mode,
    type: object.type,
    provider: ready.use.reference,
    action: "no-op",
    before: seen.stored,
    ...(seen.value !== undefined && { after: seen.value }),
    replacePaths: [],
    causes: [],
    words: {
      priorPrivate: seen.privateBytes,
      plannedPrivate: seen.privateBytes,
      ...(seen.identity !== undefined && {
        priorIdentity: seen.identity,
        plannedIdentity: seen.identity,
      }),
    },
    schemaVersion: schema.version,
    dependencies: object.dependencies,
    createBeforeDestroy: object.createBeforeDestroy,
    record: seen.observed,
    legacyTypeSystem: false,
  };
}
