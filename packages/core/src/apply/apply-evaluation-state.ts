import type { Clock } from "@stackwright/base/clock";
import type { Value } from "@stackwright/cty";
import type { Configuration } from "../configuration/configuration.ts";
import type { Plan } from "../plan/plan.ts";
import { EvaluationState, type EvaluationStateOptions } from "../walk/evaluation-state.ts";
import { loadStateIntoContext } from "../walk/load-state.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import { restoredKeys } from "../walk/restored-keys.ts";
import { openChecks } from "./open-checks.ts";

interface ApplyEvaluationStateOptions {
  readonly plan: Plan;
  readonly configuration: Configuration;
  readonly variables: ReadonlyMap<string, Value>;
  readonly clock: Pick<Clock, "wallMs">;
  readonly randomBytes: (size: number) => Uint8Array;
  readonly functions: EvaluationStateOptions["providerFunctions"];
}

/** The world of an apply: the frozen instances of the plan, with the values that are known before anything is done. */
interface ApplyEvaluationState {
  readonly world: EvaluationState;
  /** By address. */
  readonly slots: ReadonlyMap<string, InstanceSlot>;
}

export function createApplyEvaluationState({
  plan,
  configuration,
  variables,
  clock,
  randomBytes,
  functions,
}: ApplyEvaluationStateOptions): ApplyEvaluationState {
  const open = new Set(openChecks(plan).map(({ kind, address }) => `${kind} ${address}`));
  const world = new EvaluationState({
    root: configuration.root,
    variables,
    workspace: plan.workspace,
    host: {
      planTime: new Date(plan.createdAtMs),
      now: () => new Date(clock.wallMs()),
      randomBytes,
      maxStringLength: 32 * 1024 * 1024,
    },
    applying: true,
    providerFunctions: functions,
    missing: plan.partial || plan.mode !== "normal" ? "lenient" : "strict",
    expandsCalls: plan.mode !== "normal",
    guards: (check) => open.has(check),
  });
  if (plan.mode === "normal") restoreInstances(world, plan);
  else {
    // Provider configurations are evaluated over the refreshed values; in a destroy over those from before it.
    const values = plan.changes.flatMap(({ address, deposed, before, after }) => {
      const value = plan.mode === "refresh-only" ? (after ?? before) : before;
      return deposed === "" && value !== undefined ? [[address, value] as const] : [];
    });
    loadStateIntoContext(world, values);
  }
  const slots = new Map<string, InstanceSlot>();
  for (const module of world.allModules()) {
    for (const resource of module.resources.values()) {
      for (const slot of resource.slots.values()) slots.set(slot.address, slot);
    }
  }
  if (plan.mode === "normal") {
    for (const [address, value] of plan.known) setValue(slots.get(address), value);
    for (const { address, deposed, action, after } of plan.changes) {
      if (deposed === "" && action === "no-op" && after !== undefined)
        setValue(slots.get(address), after);
    }
  }
  return { world, slots };
}

function setValue(slot: InstanceSlot | undefined, value: Value): void {
  if (slot !== undefined) slot.value = value;
}

/** Gives every module call and resource the instances that the plan froze. */
function restoreInstances(world: EvaluationState, { expansions }: Plan): void {
  const frozen = new Map(expansions.map(({ address, keys }) => [address, keys]));
  // Grows while it is walked: calls make modules.
  for (const module of world.allModules()) {
    for (const call of module.calls.values()) {
      const keys = frozen.get(call.address);
      if (keys !== undefined) call.expand(restoredKeys(module, keys, call.config.forEach));
    }
    for (const resource of module.resources.values()) {
      const keys = frozen.get(resource.address);
      if (keys !== undefined) resource.expand(restoredKeys(module, keys, resource.config?.forEach));
    }
  }
}
