import type { Value } from "@stackwright/cty";
import { type EvaluationScope, evaluateBody, hasErrors } from "@stackwright/lang";
import type { Action, ResourceChange } from "../plan/change.ts";
import {
  type BoundProvisioner,
  bindProvisioners,
  type Provisioning,
} from "../provisioners/bind-provisioners.ts";
import {
  EVERYWHERE,
  type PlannedProvisioner,
  plannedProvisioners,
} from "../provisioners/planned-provisioner.ts";
import type { StateObject } from "../state/state-object.ts";
import type { Target } from "../walk/recorder.ts";
import { destroyProvisioning, destroyScope } from "./destroy-provisioners.ts";
import type { ManagedInstance } from "./managed-instance.ts";
import type { PlanRun } from "./plan-run.ts";

/** What provisioners do with a planned change, and what they read. */
interface ProvisionerPlan {
  readonly steps: readonly PlannedProvisioner[];
  readonly targets: ReadonlySet<Target>;
}

interface PlannedObject {
  readonly action: Action;
  readonly createFirst: boolean;
  /** The object as it is; undefined where there is none. */
  readonly current: Value | undefined;
  /** Names of the instance, with the planned object as `self`. */
  readonly scope: EvaluationScope;
}

/**
 * Plans the provisioners of an instance. Also where none runs they are evaluated, because the object depends on what they read.
 * Undefined after an error, which is reported.
 */
export async function planProvisioners(
  { run, config, slot, seen }: ManagedInstance,
  { action, createFirst, current, scope }: PlannedObject,
): Promise<ProvisionerPlan | undefined> {
  if (config.provisioners.length === 0) return { steps: [], targets: new Set() };
  const { provisioners, diagnostics } = bindProvisioners(config);
  const created = provisioners.filter((one) => one.config.when === "create");
  const address = slot.address;
  const report = (found: typeof diagnostics): boolean => {
    run.report(found.map((one) => ({ ...one, address: one.address ?? address })));
    return !hasErrors(found);
  };
  if (!report(diagnostics)) return undefined;
  await run.world.answered(() => evaluateAll(created, scope));
  const { result, targets } = run.world.recorder.record(() => evaluateAll(created, scope));
  const creates = action === "create" || action === "replace";
  // What does not run may have errors that the created object no longer has to do with.
  if (creates && !report(result)) return undefined;
  const steps: PlannedProvisioner[] = [];
  const ends = action === "replace" && !createFirst && current !== undefined;
  if (ends && seen !== undefined) {
    steps.push(...destroySteps(run, seen.recorded, current));
  }
  const { secrets } = run.given.providers;
  if (creates) steps.push(...plannedProvisioners(config, "create", { scope, secrets }));
  requireAllowed(run, address, config, steps);
  return { steps, targets };
}

/** Adds the provisioners that run before an object is destroyed to its change. */
export function withDestroyProvisioners(
  run: PlanRun,
  object: StateObject,
  change: ResourceChange,
): ResourceChange {
  const { before, action, address, deposed } = change;
  if (action !== "delete" || deposed !== "" || before === undefined) return change;
  const provisioners = destroySteps(run, object, before);
  if (provisioners.length === 0) return change;
  const found = destroyProvisioning(run.given.root, run.given.removed, address);
  if (found !== undefined) requireAllowed(run, address, found.provisioning, provisioners);
  return { ...change, provisioners };
}

/** A tainted object may never have been what its provisioners expect, so that they are left out. */
function destroySteps(
  run: PlanRun,
  { address, phase }: StateObject,
  self: Value,
): readonly PlannedProvisioner[] {
  if (phase === "tainted") return [];
  const found = destroyProvisioning(run.given.root, run.given.removed, address);
  if (found === undefined) return [];
  const { provisioning, node } = found;
  if (provisioning.provisioners.every(({ when }) => when !== "destroy")) return [];
  const { diagnostics } = bindProvisioners(provisioning);
  run.report(diagnostics.map((one) => ({ ...one, address: one.address ?? address })));
  const scope = destroyScope(run.world, node, { address, self });
  return plannedProvisioners(provisioning, "destroy", {
    scope,
    secrets: run.given.providers.secrets,
  });
}

function evaluateAll(provisioners: readonly BoundProvisioner[], scope: EvaluationScope) {
  return provisioners.flatMap(({ body, connection }) => [
    ...evaluateBody(body, scope, EVERYWHERE).diagnostics,
    ...(connection === undefined ? [] : evaluateBody(connection, scope, EVERYWHERE).diagnostics),
  ]);
}

function requireAllowed(
  run: PlanRun,
  address: string,
  { provisioners }: Provisioning,
  steps: readonly PlannedProvisioner[],
): void {
  const [first] = steps;
  if (first === undefined || run.given.provisioners) return;
  const types = [...new Set(steps.map(({ type }) => type))].join(", ");
  const subject = provisioners[first.index]?.range;
  run.fail(
    "Provisioners are not allowed",
    `The plan would run provisioners of ${address} (${types}), and this run is not allowed to execute commands. Ask an administrator to allow provisioners for the project, or remove them from the configuration.`,
    { address, ...(subject !== undefined && { subject }) },
  );
}
