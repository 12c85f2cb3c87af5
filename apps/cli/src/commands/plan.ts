import { resolve } from "node:path";
import { exportLine, exportState, formatStateFile, hasChanges } from "@stackwright/core";
import { comparisonLines } from "../adoption/adoption-report.ts";
import { comparePlans } from "../adoption/compare-plans.ts";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { HumanRenderer } from "../render/human-renderer.ts";
import { JsonRenderer } from "../render/json-renderer.ts";
import { makePlan } from "../session/create-plan.ts";
import { expireSavedPlans, planRetention } from "../session/expire-plans.ts";
import { checkGeneratedFile, generateConfiguration } from "../session/generate-configuration.ts";
import { refuseHandedBack } from "../session/handed-back.ts";
import { openEngine } from "../session/open-engine.ts";
import { requirePlaceOfPlan, shellWord, writePlanFile } from "../session/plan-file.ts";
import { loadProject, requireConfiguration } from "../session/project.ts";
import { readOnlyState } from "../session/read-only-state.ts";
import { requireAdopted } from "../session/require-adopted.ts";
import type { PlanningOptions } from "../session/run-options.ts";
import { schemasOf } from "../session/schemas-of.ts";
import { openReader, openWriter } from "../session/session.ts";
import { stackName } from "../session/stack-name.ts";

export interface PlanCommandOptions extends PlanningOptions {
  /** Where a file is written with which `up` applies exactly this plan. */
  readonly out?: string;
  /** A new file for the configuration of objects whose import blocks have no resource. */
  readonly generateConfigOut?: string;
  /** The exit code shows whether there are changes. */
  readonly detailedExitcode: boolean;
  /** An installed command whose plan of the same state is compared with this one: `terraform`, `tofu` or a path. */
  readonly compare?: string;
}

/** Shows what `up` would do. Works while another process writes, unless the plan is to be kept. */
export async function plan(
  options: PlanCommandOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const retention = planRetention(context.env);
  const { generateConfigOut: generated } = options;
  const target =
    generated === undefined ? undefined : checkGeneratedFile(generated, context, options);
  const { inputs, out, stack } = options;
  const early = {
    inputs,
    ...(stack !== undefined && { stack }),
    ...(out !== undefined && { planFile: out }),
  };
  const written = await loadProject(context, undefined, early);
  if (!options.destroy) requireConfiguration(written);
  await requireAdopted(written, options, context);
  if (out !== undefined) await requirePlaceOfPlan(resolve(context.directory, out));
  using view = options.json
    ? new JsonRenderer(context.terminal, "plan")
    : new HumanRenderer(context.terminal, options);
  const session =
    options.out === undefined
      ? await openReader(context, options)
      : await openWriter(context, options);
  try {
    refuseHandedBack(session?.stack);
    const state =
      session?.stack === undefined
        ? readOnlyState(undefined)
        : options.out === undefined
          ? readOnlyState(session.stateOf(session.stack))
          : session.stateOf(session.stack);
    const workspace = stackName(context, options);
    const project =
      target === undefined
        ? written
        : await generateConfiguration(written, target, {
            options,
            context,
            view,
            saves: options.out !== undefined,
            state,
            session,
            workspace,
          });
    if (project === undefined) return await failed(options, context);
    await using engine = await openEngine(project, context, {
      state,
      session,
      registry: options.registry,
      remembersDigests: true,
    });
    const made = await makePlan({ engine, project, state, workspace }, options, view, context);
    if (made === undefined) return await failed(options, context);
    view.planned(made.plan, await schemasOf(engine, made.plan));
    if (options.out !== undefined && session !== undefined) {
      const stored = await engine.savePlan(state, made.plan, made.variables);
      await writePlanFile(resolve(context.directory, options.out), {
        stackwright_plan: 1,
        ...session.project,
        stack: workspace,
        digest: stored.digest,
        created: new Date(stored.createdAtMs).toISOString(),
        store: session.storeName,
      });
      await expireSavedPlans(session, state.reference, retention, context);
      if (!options.json && !isAutomated(context.env)) {
        context.terminal.write(
          `\nThe plan is kept. To do exactly this: stackwright up ${shellWord(options.out)}\n`,
        );
      }
    }
    if (options.compare !== undefined) {
      const snapshot = await state.read({ signal: context.signal });
      const line = exportLine(session?.stack, snapshot);
      const comparison = await comparePlans(
        {
          command: options.compare,
          workspace,
          plan: made.plan,
          engine,
          project,
          state: formatStateFile(exportState(state.reference, snapshot, line)),
        },
        options,
        context,
      );
      const text = comparisonLines(comparison).join("\n");
      if (options.json) context.terminal.writeError(`${text}\n`);
      else context.terminal.write(`\n${text}\n`);
      if (comparison.differences.length > 0) return EXIT.failed;
    }
    const isSettled =
      !hasChanges(made.plan) && !made.unresolved && made.plan.deferred === undefined;
    return options.detailedExitcode && !isSettled ? EXIT.changes : EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

/** An older plan in the file would be taken for the one that could not be made. */
async function failed(
  { out }: Pick<PlanCommandOptions, "out">,
  { directory }: CommandContext,
): Promise<ExitCode> {
  if (out !== undefined) {
    await writePlanFile(resolve(directory, out), { stackwright_plan: 1, failed: true });
  }
  return EXIT.failed;
}

/** Hints about the next command are for users, not for logs of automation. */
function isAutomated({ TF_IN_AUTOMATION: text }: NodeJS.ProcessEnv): boolean {
  return text !== undefined && text !== "";
}
