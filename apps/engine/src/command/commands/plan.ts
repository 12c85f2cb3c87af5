import { resolve } from "node:path";
import { hasChanges } from "../../plan/plan.ts";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { makePlan } from "../make-plan.ts";
import { openEngine } from "../open-engine.ts";
import { PeopleView } from "../people-view.ts";
import { writePlanFile } from "../plan-file.ts";
import { ProgramsView } from "../programs-view.ts";
import { loadProject, requireConfiguration } from "../project.ts";
import { readOnlyState } from "../read-only-state.ts";
import { requireAdopted } from "../require-adopted.ts";
import type { RunOptions } from "../run-options.ts";
import { schemasOf } from "../schemas-of.ts";
import { openReader, openWriter } from "../session.ts";
import { stackName } from "../stack-name.ts";

export interface PlanCommandOptions extends RunOptions {
  /** Where a file is written with which `up` applies exactly this plan. */
  readonly out?: string;
  /** Tell by the exit code whether there are changes. */
  readonly detailedExitcode: boolean;
}

/** Shows what `up` would do. Works while another process writes, unless the plan is to be kept. */
export async function plan(
  options: PlanCommandOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const project = await loadProject(context);
  if (!options.destroy) requireConfiguration(project);
  await requireAdopted(project, options, context);
  using view = options.json
    ? new ProgramsView(context.terminal, "plan")
    : new PeopleView(context.terminal);
  const session =
    options.out === undefined
      ? await openReader(context, options)
      : await openWriter(context, options);
  try {
    const state =
      session?.stack === undefined
        ? readOnlyState(undefined)
        : options.out === undefined
          ? readOnlyState(session.stateOf(session.stack))
          : session.stateOf(session.stack);
    await using engine = await openEngine(project, context, {
      state,
      session,
      registry: options.registry,
    });
    const workspace = stackName(context, options);
    const made = await makePlan({ engine, project, state, workspace }, options, view, context);
    if (made === undefined) return EXIT.failed;
    view.planned(made.plan, await schemasOf(engine, made.plan));
    if (options.out !== undefined && session !== undefined) {
      const stored = await engine.savePlan(state, made.plan);
      await writePlanFile(resolve(context.directory, options.out), {
        stackwright_plan: 1,
        ...session.project,
        stack: workspace,
        digest: stored.digest,
        created: new Date(stored.createdAtMs).toISOString(),
        store: session.storeName,
      });
      if (!options.json) {
        context.terminal.write(
          `\nThe plan is kept. To do exactly this: stackwright up ${options.out}\n`,
        );
      }
    }
    return options.detailedExitcode && (hasChanges(made.plan) || made.unresolved)
      ? EXIT.changes
      : EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}
