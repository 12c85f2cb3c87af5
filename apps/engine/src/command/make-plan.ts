import { type Diagnostic, hasErrors } from "@stackwright/lang";
import type { Engine } from "../engine.ts";
import type { Plan } from "../plan/plan.ts";
import type { StackState } from "../state/stack-state.ts";
import type { CommandContext } from "./command-context.ts";
import { type Project, type ProjectVariables, readVariables } from "./project.ts";
import { parallelismOf, planOptions, type RunOptions } from "./run-options.ts";
import type { RunView } from "./run-view.ts";
import { parseDuration } from "./session.ts";

/** A plan and the values that it was made with. */
export interface MadePlan {
  readonly plan: Plan;
  readonly variables: ProjectVariables["values"];
}

/** Makes a plan and shows what is wrong; undefined where there is none. */
export async function makePlan(
  {
    engine,
    project,
    state,
    workspace,
  }: {
    readonly engine: Engine;
    readonly project: Project;
    readonly state: StackState;
    readonly workspace: string;
  },
  options: RunOptions,
  view: RunView,
  context: CommandContext,
): Promise<MadePlan | undefined> {
  const { configuration } = project;
  if (hasErrors(configuration.diagnostics)) {
    view.diagnostics(configuration.diagnostics);
    return undefined;
  }
  const { values: variables, diagnostics } = await readVariables(project, options.inputs, context);
  if (hasErrors(diagnostics)) {
    view.diagnostics([...configuration.diagnostics, ...diagnostics]);
    return undefined;
  }
  const age = options.refreshAge === undefined ? undefined : parseDuration(options.refreshAge);
  const result = await engine.plan({
    state,
    configuration,
    variables,
    workspace,
    options: planOptions(options, age),
    parallelism: parallelismOf(options),
    signal: context.signal,
    onEvent: view.onPlanning,
  });
  const found: readonly Diagnostic[] = [...diagnostics, ...result.diagnostics];
  view.diagnostics(found);
  return result.plan === undefined ? undefined : { plan: result.plan, variables };
}
