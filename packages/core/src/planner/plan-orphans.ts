import { forEachLimited } from "@stackwright/base/limiter";
import { parseAddress, removedBy } from "@stackwright/lang";
import type { Configuration } from "../configuration/configuration.ts";
import type { ActionReason } from "../plan/change.ts";
import { objectKey, type StateObject } from "../state/state-object.ts";
import { blockedRemovals } from "./blocked-removals.ts";
import { planRemoval, type Removal } from "./plan-removal.ts";
import type { PlanRun } from "./plan-run.ts";
import { configOf } from "./prevent-destroy.ts";
import type { Selection } from "./selection.ts";

/** Plans the end of what the configuration does not declare: deposed objects, and objects whose block is gone. */
export async function planOrphans(
  run: PlanRun,
  configuration: Configuration,
  selection: Selection,
): Promise<void> {
  // All that is declared has been planned by now, or stays because something needs it.
  const isPlanned = (object: StateObject): boolean => run.changes.has(objectKey(object));
  const blocked = blockedRemovals(run.given.objects, selection, (object) => !isPlanned(object));
  const left = [...run.given.objects].filter(([key, object]) => {
    if (run.changes.has(key) || blocked.has(object)) return false;
    if (object.deposed !== "") return selection.includesAddress(object.address, true);
    if (run.handled.has(object.address)) return false;
    return (
      isUndeclared(run, configuration, object) && selection.includesAddress(object.address, false)
    );
  });
  await forEachLimited(left, run.given.parallelism, async ([, object]) => {
    const change = await planRemoval(run, object, removalOf(run, configuration, object));
    if (change !== undefined) run.plan(change);
  });
}

/** Whether no walked resource has spoken for the object. */
function isUndeclared(run: PlanRun, { root }: Configuration, object: StateObject): boolean {
  if (run.changes.has(objectKey(object))) return false;
  const declared = configOf(root, object.address) !== undefined;
  if (!declared) return true;
  // Declared, but in an instance of a module that no longer exists.
  const { value } = parseAddress(object.address);
  if (value?.kind !== "resource") return true;
  return !run.hasModule(value.module);
}

function removalOf(
  run: PlanRun,
  { root, refactoring }: Configuration,
  object: StateObject,
): Removal {
  const { value } = parseAddress(object.address);
  const block = value === undefined ? undefined : removedBy(refactoring.removed, value);
  const forgets = block?.destroy === false;
  if (object.deposed !== "") return { action: forgets ? "forget" : "delete", reason: undefined };
  let reason: ActionReason = "delete-because-no-resource-config";
  // Declared, so it is the instance of the module that no longer exists.
  if (configOf(root, object.address) !== undefined) reason = "delete-because-no-module";
  else if (run.given.previous.has(object.address)) reason = "delete-because-no-move-target";
  return { action: forgets ? "forget" : "delete", reason };
}
