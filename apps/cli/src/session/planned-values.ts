import type { Value } from "@stackwright/cty";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { CollectingView } from "./collecting-view.ts";
import { makePlan } from "./create-plan.ts";
import { openEngine } from "./open-engine.ts";
import type { Project, VariableInput } from "./project.ts";
import { readOnlyState } from "./read-only-state.ts";
import { requireAdopted } from "./require-adopted.ts";
import { openReader, type StoreOptions } from "./session.ts";
import { stackName } from "./stack-name.ts";

/** The values of all objects as a new plan leads to them. `CommandError` where no plan can be created. */
export async function plannedValues(
  project: Project,
  options: StoreOptions & { readonly inputs: readonly VariableInput[] },
  context: CommandContext,
): Promise<readonly (readonly [address: string, value: Value])[]> {
  await requireAdopted(project, options, context);
  const session = await openReader(context, options);
  try {
    const stack = session?.stack;
    const state = readOnlyState(stack && session?.stateOf(stack));
    const { registry } = options;
    await using engine = await openEngine(project, context, {
      state,
      session,
      registry,
      remembersDigests: true,
    });
    const view = new CollectingView();
    const ground = { engine, project, state, workspace: stackName(context, options) };
    const made = await makePlan(ground, { ...options, ...PLANNING }, view, context);
    showDiagnostics(context.terminal, view.found);
    if (made === undefined) throw new CommandError("The plan of -plan could not be created.");
    return made.plan.changes.flatMap(({ address, deposed, after }) =>
      after === undefined || deposed !== "" ? [] : [[address, after] as const],
    );
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

const PLANNING = {
  target: [],
  exclude: [],
  replace: [],
  refresh: true,
  refreshOnly: false,
  destroy: false,
  parallelism: "10",
  json: false,
  input: true,
} as const;
