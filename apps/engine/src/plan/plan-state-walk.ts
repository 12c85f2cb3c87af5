import type { Value } from "@stackwright/cty";
import { hasErrors } from "@stackwright/lang";
import { isPlaceholder, type StateObject } from "../state/state-object.ts";
import { populateWorld } from "../walk/populate.ts";
import { forEachLimited } from "../walk/semaphore.ts";
import type { ResourceChange } from "./change.ts";
import type { Configuration } from "./configuration.ts";
import { partsOf, planRemoval, previousOf, see } from "./plan-removal.ts";
import type { PlanRun } from "./plan-run.ts";
import { upgradeObject } from "./read-object.ts";
import { recordedClosure } from "./recorded-closure.ts";
import type { Selection } from "./selection.ts";

/**
 * Plans from the state alone: a look at everything, or the end of everything. The configuration is only needed for
 * what it says about providers, and is evaluated over what is recorded.
 */
export async function planStateWalk(
  run: PlanRun,
  _configuration: Configuration,
  selection: Selection,
): Promise<void> {
  await populateFromState(run);
  if (hasErrors(run.diagnostics)) return;
  const { mode } = run.given.options;
  const objects = mode === "destroy" ? toDestroy(run, selection) : toLookAt(run, selection);
  await forEachLimited(objects, run.given.parallelism, async (object) => {
    const change =
      mode === "destroy"
        ? await planRemoval(run, object, { action: "delete", reason: undefined })
        : await planLook(run, object);
    if (change !== undefined) run.plan(change);
  });
  if (mode === "destroy") return;
  // Outputs are worked out over what was found.
  const found = [...run.changes.values()].flatMap(({ address, deposed, after }) =>
    deposed === "" && after !== undefined ? [[address, after] as const] : [],
  );
  run.world.restart();
  populateWorld(run.world, found);
}

function toLookAt(run: PlanRun, selection: Selection): readonly StateObject[] {
  return [...run.given.objects.values()].filter(({ address }) =>
    selection.includesAddress(address, false),
  );
}

/**
 * What is named, and everything that depends on it: nothing can be destroyed under its dependents. Of what is excluded,
 * what it depends on stays as well.
 */
function toDestroy(run: PlanRun, selection: Selection): readonly StateObject[] {
  const all = [...run.given.objects.values()];
  if (!selection.partial) return all;
  const { targets } = run.given.options;
  const named =
    targets.length === 0
      ? all
      : recordedClosure(all, (one) => selection.includesAddress(one.address, false), "dependents");
  const kept = recordedClosure(all, (one) => selection.isExcluded(one.address), "dependencies");
  return [...named].filter((object) => !kept.has(object));
}

/** Puts recorded values into the world, for the configurations of providers. */
async function populateFromState(run: PlanRun): Promise<void> {
  const values: (readonly [string, Value])[] = [];
  const report = (): void => undefined;
  for (const object of run.given.objects.values()) {
    if (object.deposed !== "" || isPlaceholder(object)) continue;
    const { source, version, alias } = object.provider;
    const reference = { source, version: run.given.versions.get(source) ?? version, alias };
    try {
      const use = await run.given.providers.get(reference);
      const value = await upgradeObject(object, { use, report });
      if (value !== undefined) values.push([object.address, value]);
    } catch (error) {
      run.fail("Provider not available", error instanceof Error ? error.message : String(error), {
        address: object.address,
      });
      return;
    }
  }
  populateWorld(run.world, values);
}

async function planLook(run: PlanRun, object: StateObject): Promise<ResourceChange | undefined> {
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
  const seen = await see(run, object, ready);
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
