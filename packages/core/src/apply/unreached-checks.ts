import { evaluateOutput } from "@stackwright/lang";
import type { CheckResult } from "../state/check-result.ts";
import { validateConditions } from "../walk/conditions.ts";
import type { ModuleInstance } from "../walk/module-instance.ts";
import type { ApplyRun } from "./apply-run.ts";
import type { StepRunner } from "./step-runner.ts";

/** What has conditions, as the results of them name it. */
type CheckedObject = Pick<CheckResult, "kind" | "address">;

/**
 * What has conditions that a run did not come to, because something that it depends on was not done: what the plan found of them says
 * nothing of what there is now.
 */
export function unreachedChecks(run: ApplyRun, runner: StepRunner): readonly CheckedObject[] {
  if (runner.isComplete || run.given.plan.mode !== "normal") return [];
  const unreached: CheckedObject[] = runner
    .results()
    .filter(({ step, status }) => step === "make" && status !== "done")
    .flatMap(({ address }) => [
      { kind: "precondition", address },
      { kind: "postcondition", address },
    ]);
  const { world } = run.given;
  for (const module of world.allModules()) {
    const scope = module.scope.forInstance({});
    for (const [name, config] of module.node.config.outputs) {
      if (config.preconditions.length === 0) continue;
      if (isReached(run, runner, () => evaluateOutput(config, scope, { root: isRoot(module) })))
        continue;
      unreached.push({ kind: "output", address: module.addressOf(`output.${name}`) });
    }
    for (const { name, assertions } of module.node.config.checks.values()) {
      if (isReached(run, runner, () => validateConditions(assertions, module.scope))) continue;
      unreached.push({ kind: "check", address: module.addressOf(`check.${name}`) });
    }
  }
  return unreached;
}

function isRoot({ place }: ModuleInstance): boolean {
  return place === undefined;
}

/** Whether all is made that an evaluation needs. One that needs a missing value throws. */
function isReached(
  { given: { world } }: ApplyRun,
  runner: StepRunner,
  evaluate: () => unknown,
): boolean {
  try {
    const { targets, blocked } = world.recorder.apart(evaluate);
    return blocked.size === 0 && [...targets].every((target) => runner.isMade(target));
  } catch {
    return false;
  }
}
