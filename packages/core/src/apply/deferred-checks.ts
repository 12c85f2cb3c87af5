import type { Value } from "@stackwright/cty";
import type { ResourceChange } from "../plan/change.ts";
import type { Plan } from "../plan/plan.ts";
import { evaluateConditions, validateConditions } from "../walk/conditions.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import type { ApplyRun } from "./apply-run.ts";
import { openChecks } from "./open-checks.ts";

/** Addresses of objects with conditions that the plan could not decide: they have a step, even if nothing changes. */
export function objectsWithOpenChecks(plan: Plan): ReadonlySet<string> {
  const own = openChecks(plan).filter(
    ({ kind }) => kind === "precondition" || kind === "postcondition",
  );
  return new Set(own.map(({ address }) => address));
}

/** Decides the conditions of an instance. True where all hold; everything else is reported. */
export async function decideConditions(
  run: ApplyRun,
  slot: InstanceSlot,
  kind: "precondition" | "postcondition",
  self?: Value,
): Promise<boolean> {
  const { preconditions = [], postconditions = [] } = slot.resource.config?.lifecycle ?? {};
  const conditions = kind === "precondition" ? preconditions : postconditions;
  if (conditions.length === 0) return true;
  const scope = slot.resource.module.scope.forInstance({ ...slot.context, ...(self && { self }) });
  await run.given.world.answered(() => validateConditions(conditions, scope));
  return evaluateConditions({
    address: slot.address,
    kind,
    conditions,
    scope,
    report: (diagnostics) => run.report(diagnostics),
    keep: (result) => run.checks.push(result),
  });
}

/** Decides the conditions of an object that nothing else is done for. */
export async function decideOpen(
  run: ApplyRun,
  { address, after }: ResourceChange,
  slot: InstanceSlot,
): Promise<boolean> {
  const open = openChecks(run.given.plan).filter((check) => check.address === address);
  for (const kind of ["precondition", "postcondition"] as const) {
    if (!open.some((check) => check.kind === kind)) continue;
    const self = kind === "postcondition" ? after : undefined;
    if (!(await decideConditions(run, slot, kind, self))) return false;
  }
  return true;
}
