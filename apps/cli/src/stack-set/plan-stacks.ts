import {
  type PlannedStackFinder,
  PlanSet,
  type Run,
  type SetPlan,
  type StackState,
} from "@stackwright/core";
import type { Diagnostic } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { CollectingView } from "../session/collecting-view.ts";
import { type MadePlan, makePlan } from "../session/create-plan.ts";
import { refuseHandedBack } from "../session/handed-back.ts";
import { type CommandEngine, openEngine } from "../session/open-engine.ts";
import { loadProject, type Project, requireConfiguration } from "../session/project.ts";
import { readOnlyState } from "../session/read-only-state.ts";
import { requireAdopted } from "../session/require-adopted.ts";
import type { PlanningOptions } from "../session/run-options.ts";
import { dataFolder, type Session, type StackSession, storeAddress } from "../session/session.ts";
import { refuseLocked, releaseInterruptedLock } from "../session/stack-lock.ts";
import type { SetFolder } from "./set-folders.ts";
import { headOf } from "./set-head.ts";

/** What the commands over several stacks are given. */
export interface SetOptions
  extends Omit<
    PlanningOptions,
    | "stack"
    | "inputs"
    | "target"
    | "exclude"
    | "targetFile"
    | "excludeFile"
    | "replace"
    | "refreshOnly"
    | "destroy"
    | "staged"
  > {}

/** A plan of one stack of a set, with what it was made with. */
export interface StackPlan extends SetPlan {
  readonly member: SetFolder;
  readonly made: MadePlan;
  readonly engine: CommandEngine;
  readonly project: Project;
  /** Of the stack alone: disposing it is for the caller of all. */
  readonly session: StackSession | undefined;
  readonly context: CommandContext;
  readonly options: PlanningOptions;
  readonly run: Pick<Run, "id" | "cause"> | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** What came of planning a set: its plans in the order in which they may be applied, and what was wrong with those that could not be made. */
interface PlannedSet {
  readonly plans: readonly StackPlan[];
  readonly failed: ReadonlyMap<SetFolder, readonly Diagnostic[]>;
}

/**
 * Plans stacks of one store and project together: each with the planned outputs of those that it reads.
 *
 * @param open what ends with the caller: engines
 */
export async function planStacks(
  folders: readonly SetFolder[],
  options: SetOptions,
  {
    context,
    session,
    saves,
    open,
  }: {
    readonly context: CommandContext;
    readonly session: Session | undefined;
    /** Whether the plans are to be applied. */
    readonly saves: boolean;
    readonly open: AsyncDisposableStack;
  },
): Promise<PlannedSet> {
  const failed = new Map<SetFolder, readonly Diagnostic[]>();
  const { env } = context;
  const project = session?.project ?? {
    account: "default",
    project: options.project ?? (env.STACKWRIGHT_PROJECT || "default"),
  };
  const set = new PlanSet(
    folders.map((member) => ({
      name: member.stack,
      make: async (planned: PlannedStackFinder) => {
        context.signal.throwIfAborted();
        const view = new CollectingView();
        const ground = { context, session, saves, open, project, view, planned };
        const plan = await planMember(member, options, ground).catch((error: unknown) => {
          // What it says may be true of any of them.
          context.terminal.writeError(headOf(member, context.terminal));
          throw error;
        });
        if (plan === undefined) failed.set(member, view.found);
        return plan;
      },
    })),
    project.project,
  );
  await set.make();
  return { plans: set.made, failed };
}

async function planMember(
  member: SetFolder,
  given: SetOptions,
  {
    context: outer,
    session: all,
    saves,
    open,
    project: place,
    view,
    planned,
  }: {
    readonly context: CommandContext;
    readonly session: Session | undefined;
    readonly saves: boolean;
    readonly open: AsyncDisposableStack;
    readonly project: { readonly account: string; readonly project: string };
    readonly view: CollectingView;
    readonly planned: PlannedStackFinder;
  },
): Promise<StackPlan | undefined> {
  const context = contextOf(member, given, outer);
  const { store: _store, ...rest } = given;
  const options: PlanningOptions = {
    ...rest,
    inputs: [],
    target: [],
    exclude: [],
    replace: [],
    refreshOnly: false,
    destroy: false,
  };
  const project = await loadProject(context);
  requireConfiguration(project);
  await requireAdopted(project, options, context);
  const session = all && (await sessionOf(member, all, saves));
  refuseHandedBack(session?.stack);
  if (session !== undefined && saves) {
    await refuseLocked(session);
    await releaseInterruptedLock(session, options, context);
  }
  const state: StackState =
    session === undefined
      ? { ...readOnlyState(undefined), reference: { ...place, stack: member.stack } }
      : saves
        ? session.state
        : readOnlyState(session.state);
  const engine = open.use(
    await openEngine(project, context, { state, session: all, registry: options.registry }),
  );
  const run = saves ? session?.newRun() : undefined;
  const ground = { engine, project, state, workspace: member.stack, planned };
  const made = await makePlan({ ...ground, ...(run && { run }) }, options, view, context);
  if (made === undefined) return undefined;
  return {
    member,
    plan: made.plan,
    reference: state.reference,
    made,
    engine,
    project,
    session,
    context,
    options,
    run,
    diagnostics: view.found,
  };
}

/** A command in the folder of one of the stacks, over the store of all. */
function contextOf(
  { stack, folder }: SetFolder,
  options: SetOptions,
  context: CommandContext,
): CommandContext {
  const { env } = context;
  const address = storeAddress(context, options);
  const text = options.store ?? env.STACKWRIGHT_STORE;
  return {
    ...context,
    directory: folder,
    workingDirectory: folder,
    env: {
      ...env,
      TF_WORKSPACE: "",
      STACKWRIGHT_STACK: stack,
      STACKWRIGHT_STORE: address.kind === "sqlite" ? `sqlite:${address.directory}` : text,
      // Modules and providers are installed for each folder, unless one is named for all.
      ...(env.STACKWRIGHT_DIR !== undefined &&
        env.STACKWRIGHT_DIR !== "" && { STACKWRIGHT_DIR: dataFolder(context) }),
    },
  };
}

/** The session of all, for one of its stacks; undefined where it is not to be created and does not exist. */
async function sessionOf(
  { stack: name }: SetFolder,
  all: Session,
  creates: boolean,
): Promise<StackSession | undefined> {
  const stack = creates
    ? await all.stacks.ensure(all.project, name)
    : await all.stacks.find(all.project, name);
  return stack && { ...all, stack, state: all.stateOf(stack) };
}
