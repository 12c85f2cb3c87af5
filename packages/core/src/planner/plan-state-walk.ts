import { forEachLimited } from "@stackwright/base/limiter";
import type { Value } from "@stackwright/cty";
import { hasErrors } from "@stackwright/lang";
import type { Configuration } from "../configuration/configuration.ts";
import { isPlaceholder, type StateObject } from "../state/state-object.ts";
import { loadStateIntoContext } from "../walk/load-state.ts";
import { planRemoval } from "./plan-removal.ts";
import type { PlanRun } from "./plan-run.ts";
import { upgradeObject } from "./read-object.ts";
import { recordedClosure } from "./recorded-closure.ts";
import { refreshWalk } from "./refresh-walk.ts";
import type { Selection } from "./selection.ts";

/**
 * Plans from the state: a refresh or a destroy of all objects. The configuration is only needed for its providers, data
 * sources and outputs, and is evaluated over the recorded and the refreshed objects.
 */
export async function planStateWalk(
  run: PlanRun,
  configuration: Configuration,
  selection: Selection,
): Promise<void> {
  await populateFromState(run);
  if (hasErrors(run.diagnostics)) return;
  if (run.given.options.mode === "refresh-only") {
    await refreshWalk(run, configuration, selection);
    return;
  }
  await forEachLimited(toDestroy(run, selection), run.given.parallelism, async (object) => {
    const change = await planRemoval(run, object, { action: "delete", reason: undefined });
    if (change !== undefined) run.plan(change);
  });
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
  const excluded = recordedClosure(all, (one) => selection.isExcluded(one.address), "dependencies");
  return [...named].filter((object) => !excluded.has(object));
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
  loadStateIntoContext(run.world, values);
}
