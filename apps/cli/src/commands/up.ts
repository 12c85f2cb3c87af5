import { resolve } from "node:path";
import {
  type DeferredPart,
  decodePlan,
  hasChanges,
  type Plan,
  type PlanDocuments,
  planVariables,
  replacementsLeft,
  stuckAdvice,
  stuckBecause,
} from "@stackwright/core";
import { hasErrors } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { HumanRenderer } from "../render/human-renderer.ts";
import { JsonRenderer } from "../render/json-renderer.ts";
import { type ApplyGround, applyPlan } from "../session/apply-plan.ts";
import { type MadePlan, makePlan } from "../session/create-plan.ts";
import { refuseHandedBack } from "../session/handed-back.ts";
import { type CommandImport, checkImport, imports } from "../session/import-block.ts";
import { openEngine } from "../session/open-engine.ts";
import { type PlanFile, planNotFoundError, readPlanFile } from "../session/plan-file.ts";
import {
  ephemeralVariables,
  loadProject,
  readVariables,
  requireConfiguration,
} from "../session/project.ts";
import { requireAdopted } from "../session/require-adopted.ts";
import { isInteractive, type PlanningOptions } from "../session/run-options.ts";
import { schemasOf } from "../session/schemas-of.ts";
import { openReader, openWriter } from "../session/session.ts";
import { refuseLocked, releaseInterruptedLock } from "../session/stack-lock.ts";
import { stackName } from "../session/stack-name.ts";
import { cannotAsk } from "../terminal/cannot-ask.ts";

export interface UpOptions extends PlanningOptions {
  /** What `import` adds to the configuration for this run. */
  readonly importing?: CommandImport;
  /** Apply without asking. */
  readonly yes: boolean;
}

interface Run extends ApplyGround {
  readonly options: UpOptions;
}

/** Plans, asks, and applies; or applies the plan of a file. */
export async function up(
  planFile: string | undefined,
  options: UpOptions,
  context: CommandContext,
): Promise<ExitCode> {
  if (planFile !== undefined) refuseForSavedPlan(options);
  const file =
    planFile === undefined ? undefined : await readPlanFile(resolve(context.directory, planFile));
  const place =
    file === undefined ? options : { ...options, stack: file.stack, project: file.project };
  const saved = file && (await requirePlan(planFile ?? "", file, place, context));
  const { inputs, stack } = place;
  const project = await loadProject(context, options.importing?.files, {
    inputs,
    ...(stack !== undefined && { stack }),
    ...(planFile !== undefined && { planFile }),
    // What a saved plan was made with is what its configuration is loaded with.
    ...(saved && { values: saved.plan.variables }),
  });
  if (!options.destroy && planFile === undefined) requireConfiguration(project);
  using view = options.json
    ? new JsonRenderer(context.terminal, options.destroy ? "destroy" : "apply")
    : new HumanRenderer(context.terminal, options);
  await requireAdopted(project, place, context);
  await using session = await openWriter(context, place);
  refuseHandedBack(session.stack);
  // Before a plan is made that could not be applied.
  await refuseLocked(session);
  if (file === undefined) await releaseInterruptedLock(session, options, context);
  if (options.importing !== undefined) await checkImport(session.state, options.importing);
  await using engine = await openEngine(project, context, {
    state: session.state,
    session,
    registry: options.registry,
  });
  const savedPlan = planFile === undefined ? {} : { planFile };
  const run: Run = {
    options: { ...options, ...place },
    context,
    project,
    engine,
    session,
    view,
    ...savedPlan,
  };
  if (file === undefined) return await inStages(run);
  const plan = await engine.loadPlan(session.state, file.digest);
  if (plan === undefined) {
    throw planNotFoundError(planFile ?? "", file, session.storeName);
  }
  const given = await givenVariables(run, plan);
  const documents = saved?.documents;
  return given === undefined ? EXIT.failed : await applyPlan({ ...given, documents }, run);
}

/** A saved plan has its options. Other ones cannot change it, so they are errors instead of being ignored. */
function refuseForSavedPlan(options: UpOptions): void {
  const given = [
    ["-destroy", options.destroy],
    ["-refresh-only", options.refreshOnly],
    ["-refresh=false", !options.refresh],
    ["-target", options.target.length > 0 || (options.targetFile ?? []).length > 0],
    ["-exclude", options.exclude.length > 0 || (options.excludeFile ?? []).length > 0],
    ["-replace", options.replace.length > 0],
    ["-staged", options.staged === true],
  ] as const;
  const [option] = given.find(([, isGiven]) => isGiven) ?? [];
  if (option === undefined) return;
  throw new CommandError(`The option "${option}" cannot change a saved plan.`, {
    advice: `Create a plan with it: stackwright plan ${option} --out FILE`,
  });
}

/** The saved plan, read before anything is created in a store that may be the wrong one. */
async function requirePlan(
  name: string,
  file: PlanFile,
  place: UpOptions,
  context: CommandContext,
): Promise<{ readonly plan: Plan; readonly documents: PlanDocuments | undefined }> {
  const session = await openReader(context, place);
  try {
    const stack = session?.stack;
    const plan = stack && (await session.stateOf(stack).plan(file.digest));
    if (plan === undefined) throw planNotFoundError(name, file, session?.storeName);
    return { plan: decodePlan(plan.bytes), documents: plan.documents };
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

/** The values of a stored plan, and ephemeral ones as they are given now. */
async function givenVariables(run: Run, plan: Plan): Promise<MadePlan | undefined> {
  const { project, options, context, view } = run;
  if (hasErrors(project.configuration.diagnostics)) {
    view.diagnostics(project.configuration.diagnostics);
    return undefined;
  }
  const ephemeral = ephemeralVariables(project);
  if (ephemeral.length === 0)
    return { plan, variables: planVariables(plan, new Map()), unresolved: false };
  const { values, given, diagnostics } = await readVariables(project, options.inputs, context, {
    ...isInteractive(options),
    settled: plan.variables,
  });
  if (hasErrors(diagnostics)) {
    view.diagnostics(diagnostics);
    return undefined;
  }
  requireGivenAgain(ephemeral, plan, given);
  const again = new Map([...values].filter(([name]) => !plan.variables.has(name)));
  return { plan, variables: planVariables(plan, again), unresolved: false };
}

/** A default in place of the value that a plan was made with, or the other way round, would do something else than the plan. */
function requireGivenAgain(
  ephemeral: readonly string[],
  { givenEphemeral }: Plan,
  given: ReadonlySet<string>,
): void {
  if (givenEphemeral === undefined) return;
  const had = new Set(givenEphemeral);
  for (const name of ephemeral) {
    if (had.has(name) && !given.has(name)) {
      throw new CommandError(`The ephemeral variable "${name}" needs its value again.`, {
        advice: `It had one when the plan was made, and a plan keeps none of it: add -var '${name}=VALUE', or set TF_VAR_${name}.`,
      });
    }
    if (!had.has(name) && given.has(name)) {
      throw new CommandError(`The ephemeral variable "${name}" has a value now.`, {
        advice:
          "It had none when the plan was made. Apply the plan without the value, or make a new plan with it.",
      });
    }
  }
}

/** Plans and applies until nothing is left to a later stage; each stage is approved by itself. */
async function inStages(run: Run): Promise<ExitCode> {
  let last: readonly string[] = [];
  let { replace } = run.options;
  for (let stage = 1; ; stage += 1) {
    const options = { ...run.options, replace };
    const { code, left, replaces } = await planAndApply({ ...run, options }, { stage, last });
    if (code !== EXIT.ok || left.length === 0) return code;
    const parts = left.length === 1 ? "one part that was" : `${left.length} parts that were`;
    run.view.note(`\nStage ${stage + 1}, for ${parts} left.\n`);
    last = left.map(({ address }) => address);
    replace = replaces;
  }
}

/** How a stage ended. */
interface StageEnd {
  readonly code: ExitCode;
  /** What is left to the next stage. */
  readonly left: readonly DeferredPart[];
  /** Requests for replacements that are left with it. */
  readonly replaces: readonly string[];
}

/** @throws {CommandError} where the plan leaves something to a stage that would never come */
async function planAndApply(
  run: Run,
  { stage, last }: { readonly stage: number; readonly last: readonly string[] },
): Promise<StageEnd> {
  const { options, context, project, engine, session, view } = run;
  const workspace = stackName(context, options);
  const { state } = session;
  const record = session.newRun();
  const { importing } = options;
  const ground = {
    engine,
    project,
    state,
    workspace,
    run: record,
    ...(importing && { importing }),
  };
  const made = await makePlan(ground, options, view, context);
  if (made === undefined) return { code: EXIT.failed, left: [], replaces: [] };
  const { deferred: left = [] } = made.plan;
  const replaces = replacementsLeft(made.plan);
  const runs = session.runsOf(session.stack.reference);
  if (importing !== undefined && !imports(made.plan, importing)) {
    if (hasChanges(made.plan)) await runs.transition(record.id, "planned", "discarded");
    throw new CommandError(
      `"${importing.id}" was not imported: another object becomes ${importing.address}.`,
    );
  }
  // The user did not ask for the part of the plan that an import is about.
  const partial = made.plan.partial && importing === undefined;
  view.planned({ ...made.plan, partial }, await schemasOf(engine, made.plan));
  const stuck = stuckBecause({ stage, last, left, hasChanges: hasChanges(made.plan) });
  if (stuck !== undefined) {
    if (hasChanges(made.plan)) await runs.transition(record.id, "planned", "discarded");
    const first = left.slice(0, 5).map(({ address }) => address);
    const more = left.length > first.length ? ` and ${left.length - first.length} more` : "";
    throw new CommandError(`Some parts are left, and ${stuck}: ${first.join(", ")}${more}.`, {
      advice: stuckAdvice(left),
    });
  }
  if (!hasChanges(made.plan)) {
    // There are no changes, but the state was written by another version of a provider or differs from the real
    // objects.
    const { mode: wanted, changes } = made.plan;
    const refreshOnly = wanted === "refresh-only";
    const stale = changes.some(({ mode, record }) => record && (refreshOnly || mode === "managed"));
    const code = stale ? await applyPlan(made, { ...run, silent: true }) : EXIT.ok;
    if (!stale) await engine.noteUses(state);
    if (code === EXIT.ok) view.unchanged?.((await state.outputs()).outputs);
    return { code: wholly(made, code), left, replaces };
  }
  if (!options.yes) {
    await runs.transition(record.id, "planned", "awaiting_approval");
    const discard = async () => runs.transition(record.id, "awaiting_approval", "discarded");
    const approved = await isApproved(made.plan, run).catch(async (error: unknown) => {
      await discard();
      throw error;
    });
    if (!approved) {
      await discard();
      view.note("Nothing was done.");
      return { code: EXIT.failed, left, replaces };
    }
  }
  await runs.transition(record.id, options.yes ? "planned" : "awaiting_approval", "approved");
  const code = wholly(made, await applyPlan(made, { ...run, id: record.id }));
  return { code, left, replaces };
}

/** The plan is incomplete where an object was left out because the result of an earlier operation is unknown. */
function wholly({ unresolved }: MadePlan, code: ExitCode): ExitCode {
  return unresolved && code === EXIT.ok ? EXIT.failed : code;
}

async function isApproved({ mode }: Plan, { context, options }: Run): Promise<boolean> {
  const { terminal, signal, calledAs } = context;
  // Scripts for the reference command may write the answer into a pipe.
  const mayAnswer = terminal.interactive || (calledAs !== "stackwright" && terminal.mayAsk);
  if (!mayAnswer || options.json || !options.input) {
    throw cannotAsk(terminal, {
      need: "Approval is required to apply the plan",
      advice: 'Use --yes, or save a plan with "stackwright plan --out FILE" and apply that file.',
      input: options.input,
      json: options.json,
    });
  }
  const question = {
    normal: "Do this?",
    destroy: "Really destroy all of this?",
    "refresh-only": "Record what was found?",
  }[mode];
  const answer = await terminal.ask(
    `\n${terminal.style.paint("strong", question)} Only "yes" is taken as a yes: `,
    { signal },
  );
  return answer?.trim() === "yes";
}
