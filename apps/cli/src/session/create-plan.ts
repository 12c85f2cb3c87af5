import type {
  Engine,
  EnginePlanRequest,
  Plan,
  PlanDocuments,
  PlanMemory,
  PlannedStackFinder,
  StackState,
} from "@stackwright/core";
import { type Diagnostic, hasErrors } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import type { RunRenderer } from "../render/run-renderer.ts";
import { withAddressFiles } from "./address-files.ts";
import { type CommandImport, ofImport } from "./import-block.ts";
import {
  ephemeralVariables,
  type Project,
  type ProjectVariables,
  readVariables,
} from "./project.ts";
import { isInteractive, type PlanningOptions, parallelismOf, planOptions } from "./run-options.ts";
import { parseDuration } from "./session.ts";

/** A plan and the values that it was made with. */
export interface MadePlan {
  readonly plan: Plan;
  readonly variables: ProjectVariables["values"];
  /** Whether an object was left out because the result of an earlier operation is unknown: the plan is incomplete. */
  readonly unresolved: boolean;
  /** Of a saved plan: where it is kept without secrets. */
  readonly documents?: PlanDocuments | undefined;
}

/** Makes a plan and shows what is wrong; undefined where there is none. */
export async function makePlan(
  {
    engine,
    project,
    state,
    workspace,
    run,
    importing,
    memory,
    planned,
  }: {
    readonly engine: Engine;
    readonly project: Project;
    readonly state: StackState;
    readonly workspace: string;
    /** The run that the plan is created for. @default none: the plan is speculative */
    readonly run?: EnginePlanRequest["run"];
    /** What the command `import` was asked for. */
    readonly importing?: CommandImport;
    /** Remembers the last plan. */
    readonly memory?: PlanMemory;
    /** Stacks that are planned together with this one. */
    readonly planned?: PlannedStackFinder;
  },
  options: PlanningOptions,
  view: RunRenderer,
  context: CommandContext,
): Promise<MadePlan | undefined> {
  const { configuration } = project;
  const show = (found: readonly Diagnostic[]): void => {
    view.diagnostics(
      importing === undefined ? found : found.flatMap((one) => ofImport(one, importing)),
    );
  };
  if (hasErrors(configuration.diagnostics)) {
    // All that is wrong, at once.
    const { diagnostics } = await engine.validate({ configuration, signal: context.signal });
    show(diagnostics);
    return undefined;
  }
  const {
    values: variables,
    places,
    given,
    diagnostics,
  } = await readVariables(project, options.inputs, context, isInteractive(options));
  if (hasErrors(diagnostics)) {
    show([...configuration.diagnostics, ...diagnostics]);
    return undefined;
  }
  const age = options.refreshAge === undefined ? undefined : parseDuration(options.refreshAge);
  const result = await engine.plan({
    state,
    configuration,
    variables,
    givenEphemeral: ephemeralVariables(project).filter((name) => given.has(name)),
    workspace,
    ...(run && { run }),
    ...(memory && { memory }),
    ...(planned && { planned }),
    options: planOptions(await withAddressFiles(options, context), age),
    parallelism: parallelismOf(options),
    signal: context.signal,
    onEvent: view.onPlanning,
  });
  const found = [...diagnostics, ...result.diagnostics].map((one) => atValue(one, places));
  show(found);
  const unresolved = result.diagnostics.some(({ code }) => code === "ENGINE_UNRESOLVED");
  return result.plan === undefined ? undefined : { plan: result.plan, variables, unresolved };
}

/** A condition of a variable that does not hold is shown at the value, where that is written in a file. */
function atValue(diagnostic: Diagnostic, places: ProjectVariables["places"]): Diagnostic {
  const { summary, address } = diagnostic;
  const place = address?.startsWith("var.") === true ? places.get(address.slice(4)) : undefined;
  if (summary !== "Invalid value for variable" || place === undefined) return diagnostic;
  return { ...diagnostic, subject: place, context: place };
}
