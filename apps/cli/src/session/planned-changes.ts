import { NOTHING_WRITTEN, type ResourceChange, seeState } from "@stackwright/core";
import { parseAddress } from "@stackwright/lang";
import type { FolderPlan, PlannedChange } from "@stackwright/lang-server";
import type { CommandContext } from "../command-context.ts";
import { HumanRenderer } from "../render/human-renderer.ts";
import { makePlan } from "./create-plan.ts";
import { refuseHandedBack } from "./handed-back.ts";
import { openEngine } from "./open-engine.ts";
import type { Project } from "./project.ts";
import { readOnlyState } from "./read-only-state.ts";
import { requireAdopted } from "./require-adopted.ts";
import type { PlanningOptions } from "./run-options.ts";
import { openReader } from "./session.ts";
import { stackName } from "./stack-name.ts";
import { stackPlace, untilStateMoves } from "./state-moves.ts";

/** The recorded state is taken as it is: an editor plans at each save, and no real object is read for that. */
const OPTIONS: PlanningOptions = {
  inputs: [],
  target: [],
  exclude: [],
  replace: [],
  refresh: false,
  refreshOnly: false,
  destroy: false,
  parallelism: "10",
  json: false,
  input: false,
};

/**
 * What a plan of a project would do to which objects, by the recorded state and with what is installed, and when that state is another one.
 * Writes nothing. Empty where there is no plan, as while the configuration has errors or a variable has no value.
 */
export async function plannedChanges(
  project: Project,
  context: CommandContext,
): Promise<FolderPlan> {
  await requireAdopted(project, OPTIONS, context);
  using view = new HumanRenderer(context.terminal, OPTIONS);
  await using stack = new AsyncDisposableStack();
  const session = await openReader(context, OPTIONS);
  if (session !== undefined) stack.use(session);
  refuseHandedBack(session?.stack);
  // Before the plan reads the state: one that is written meanwhile is another one.
  const seen =
    session === undefined
      ? NOTHING_WRITTEN
      : await seeState(stackPlace(session, context, OPTIONS), { signal: context.signal });
  const state = readOnlyState(session?.stack && session.stateOf(session.stack));
  const engine = stack.use(
    await openEngine(project, context, { state, session, asInstalled: true }),
  );
  const ground = { engine, project, state, workspace: stackName(context, OPTIONS) };
  const made = await makePlan(ground, OPTIONS, view, context);
  const changes = (made?.plan.changes ?? []).flatMap(changeOf);
  if (changes.length === 0) return { changes };
  return {
    changes,
    outdated: async (signal) =>
      untilStateMoves(seen, OPTIONS, {
        ...context,
        signal: AbortSignal.any([signal, context.signal]),
      }),
  };
}

function changeOf({ address, action }: ResourceChange): PlannedChange[] {
  if (action === "no-op" || action === "read") return [];
  const { value } = parseAddress(address);
  if (value?.kind !== "resource") return [];
  const [call] = value.module;
  const block = call === undefined ? `${value.type}.${value.name}` : `module.${call.name}`;
  return [{ block, address, action }];
}
