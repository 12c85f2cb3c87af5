import { evaluateOutput } from "@stackwright/lang";
import type { CheckResult } from "../state/check-result.ts";
import { validateConditions } from "../walk/conditions.ts";
import type { ModuleInstance } from "../walk/module-instance.ts";
import type { ApplyRun } from "./apply-run.ts";
import { ReachedParts } from "./reached-parts.ts";
import type { StepRunner } from "./step-runner.ts";

/** What has conditions, as the results of them name it. */
type CheckedObject = Pick<CheckResult, "kind" | "address">;

/**
 * What has conditions that a run did not come to, because something that it depends on was not done: what the plan found of them says
 * nothing of what there is now.
 */
export function unreachedChecks(run: ApplyRun, runner: StepRunner): readonly CheckedObject[] {
  if (runner.isComplete || run.given.plan.mode !== "normal") return [];
  const reached = new ReachedParts(run, runner);
  const unreached = Array.from(reached.missed, (address): readonly CheckedObject[] => [
    { kind: "precondition", address },
    { kind: "postcondition", address },
  ]).flat();
  for (const module of run.given.world.allModules()) {
    const scope = module.scope.forInstance({});
    for (const [name, { validations }] of module.node.config.variables) {
      if (validations.length === 0) continue;
      if (reached.has(module, () => validateConditions(validations, module.scope))) continue;
      unreached.push({ kind: "variable", address: module.addressOf(`var.${name}`) });
    }
    for (const [name, config] of module.node.config.outputs) {
      if (config.preconditions.length === 0) continue;
      const evaluate = () => evaluateOutput(config, scope, { root: isRoot(module) });
      if (reached.has(module, evaluate)) continue;
      unreached.push({ kind: "output", address: module.addressOf(`output.${name}`) });
    }
    for (const { name, assertions } of module.node.config.checks.values()) {
      if (reached.has(module, () => validateConditions(assertions, module.scope))) continue;
      unreached.push({ kind: "check", address: module.addressOf(`check.${name}`) });
    }
  }
  return unreached;
}

function isRoot({ place }: ModuleInstance): boolean {
  return place === undefined;
}
