import { evaluateConditions, validateConditions } from "../walk/conditions.ts";
import type { ApplyRun } from "./apply-run.ts";
import { openChecks } from "./open-checks.ts";
import { ReachedParts } from "./reached-parts.ts";
import type { StepRunner } from "./step-runner.ts";

/**
 * Evaluates the conditions that belong to no object: those of checks, whose failure is a warning, once more, and those of
 * variables and outputs that could not be decided while planning. What stands behind something that was not done stays open.
 */
export async function finalChecks(run: ApplyRun, runner: StepRunner): Promise<void> {
  const { plan, world } = run.given;
  if (plan.mode !== "normal") return;
  const reached = runner.isComplete ? undefined : new ReachedParts(run, runner);
  const open = new Set(openChecks(plan).map(({ kind, address }) => `${kind} ${address}`));
  for (const module of world.allModules()) {
    for (const name of module.node.config.variables.keys()) {
      if (!open.has(`variable ${module.addressOf(`var.${name}`)}`)) continue;
      await prepare(run, () => module.validation(name));
      run.checks.push(...(attempt(() => module.validation(name)) ?? []));
    }
    for (const check of module.node.config.checks.values()) {
      const address = module.addressOf(`check.${check.name}`);
      if (run.unreadChecks.has(address)) continue;
      const needs = () => validateConditions(check.assertions, module.scope);
      await prepare(run, needs);
      if (reached?.has(module, needs) === false) continue;
      attempt(() =>
        evaluateConditions({
          address,
          kind: "check",
          conditions: check.assertions,
          scope: module.scope,
          report: (diagnostics) => run.report(diagnostics),
          keep: (result) => run.checks.push(result),
        }),
      );
    }
    for (const name of module.node.config.outputs.keys()) {
      const address = module.addressOf(`output.${name}`);
      if (!open.has(`output ${address}`)) continue;
      await prepare(run, () => module.output(name));
      const { conditions = [] } = attempt(() => module.output(name)) ?? {};
      for (const [index, { status, message }] of conditions.entries()) {
        run.checks.push({
          address,
          kind: "output",
          index,
          status,
          ...(message !== undefined && { message }),
        });
      }
    }
  }
}

/** Provides what an evaluation requests, if that is available. */
async function prepare(run: ApplyRun, evaluate: () => unknown): Promise<void> {
  await run.given.world.answered(evaluate).catch(() => undefined);
}

/** Undefined where a value is missing, because something was not done. */
function attempt<T>(evaluate: () => T): T | undefined {
  try {
    return evaluate();
  } catch {
    return undefined;
  }
}
