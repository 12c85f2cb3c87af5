import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { CaseStep, DifferentialCase } from "./case-files.ts";
import {
  ExactNumber,
  isObject,
  type Json,
  type JsonObject,
  listOf,
  objectOf,
  parseExact,
  textOf,
} from "./exact-json.ts";
import { problemRows, RandomIds } from "./normalise.ts";
import { checkRows, planRows, stateRows } from "./recording-rows.ts";
import { openToolRun, type Tool, type ToolRun } from "./tool.ts";

/** What is known while a case runs. */
interface CaseRun {
  readonly test: DifferentialCase;
  readonly tool: Tool;
  readonly run: ToolRun;
  readonly scratch: string;
  readonly ids: RandomIds;
  readonly quick: boolean;
}

/** How a case is run. */
interface RunCaseOptions {
  /** Leaves out what costs a start of the command and says nothing new: validate before plan, init where there is nothing to install. */
  readonly quick?: boolean;
}

/**
 * Runs a case with a tool and gives what happened in the form of a recording.
 *
 * @param configuration path of the CLI configuration file; without it there are only built-in providers
 */
export async function runCase(
  test: DifferentialCase,
  toolIn: (scratch: string) => Tool,
  configuration?: string,
  { quick = false }: RunCaseOptions = {},
): Promise<JsonObject> {
  const scratch = await mkdtemp(join(tmpdir(), "diff-case-"));
  try {
    const work = join(scratch, "work");
    await mkdir(work);
    const rc = configuration ?? join(scratch, "rc");
    if (configuration === undefined) await writeFile(rc, "");
    const tool = toolIn(scratch);
    const state: CaseRun = {
      test,
      tool,
      run: openToolRun(tool, { scratch, work, configuration: rc }),
      scratch,
      ids: new RandomIds(test.random),
      quick,
    };
    return await recordSteps(state);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function recordSteps(state: CaseRun): Promise<JsonObject> {
  const { test, tool, run } = state;
  if (test.initialState !== undefined) {
    const target = join(run.work, "terraform.tfstate");
    await cp(test.initialState, target);
    const [first] = test.steps;
    if (first !== undefined) await cp(first.folder, run.work, { recursive: true });
    await tool.importState(run, target);
  }
  const steps: JsonObject[] = [];
  for (const step of test.steps) steps.push(await recordStep(step, state));
  const last = steps.at(-1);
  const lastStep = test.steps.at(-1);
  const destroy =
    lastStep !== undefined && last?.result === "ok" && last.mode === "apply" && test.finalDestroy
      ? await recordDestroy(lastStep, state)
      : undefined;
  return {
    case: test.name,
    title: test.title,
    steps,
    ...(destroy !== undefined && { destroy }),
  };
}

async function recordStep(step: CaseStep, state: CaseRun): Promise<JsonObject> {
  const { run, tool, ids } = state;
  const before = await tool.state(run);
  ids.learn(before);
  await replaceConfiguration(run.work, step.folder);
  const out: Record<string, Json> = { step: step.name, mode: step.mode, result: "ok", stage: null };

  if (!(await prepareStep(out, step, state))) return finish(out, before, "validate", state);

  for (const words of step.stateEdits) {
    try {
      await tool.stateEdits(run, words, step.env);
    } catch (error) {
      // A generated step may have failed before it made the object. Where only one command refuses the edit, the plans differ.
      if (!state.quick) throw error;
    }
  }
  for (const [path, text] of step.drift) await drift(join(run.work, path), text);
  const planFile = join(state.scratch, `${step.name}.plan`);
  const planned = await run.stream([...planArguments(step), `-out=${planFile}`], step.env);
  out.plan = {
    exit: exitOf(planned.code),
    diagnostics: problemRows(problemsOf(planned.events), ids),
  };
  if (planned.code !== 0 && planned.code !== 2) return finish(out, before, "plan", state);
  out.plan = { ...objectOf(out.plan), ...(await showPlan(planFile, step, state)) };
  if (step.mode === "plan-only") return finish(out, before, undefined, state);

  const again = step.inputsAtApply ? step.inputs : [];
  const applied = await run.stream(
    [tool.apply, "-json", "-input=false", ...again, planFile],
    step.env,
  );
  ids.learn(await tool.state(run));
  out.apply = {
    exit: exitOf(applied.code),
    diagnostics: problemRows(problemsOf(applied.events), ids),
    ...(state.test.ordered && { order: orderOf(applied.events) }),
  };
  await finish(out, before, applied.code === 0 ? undefined : "apply", state);
  if (step.mode === "apply" && applied.code === 0) out.replan = await replan(step, state);
  return out;
}

/** Installs and validates; false where the configuration is not valid. */
async function prepareStep(
  out: Record<string, Json>,
  step: CaseStep,
  { run, ids, quick, test }: CaseRun,
): Promise<boolean> {
  if (quick && test.needs.length === 0 && !(await hasFolders(step.folder))) return true;
  const init = await run.stream(["init", "-json", "-input=false"], step.env);
  out.init = { exit: exitOf(init.code), diagnostics: problemRows(problemsOf(init.events), ids) };
  if (quick && init.code === 0) return true;
  const validated = await run.run(["validate", "-json"], step.env);
  const report = objectOf(parseExact(validated.output));
  out.validate = {
    exit: exitOf(validated.code),
    diagnostics: problemRows(listOf(report.diagnostics), ids),
  };
  if (validated.code !== 0) return false;
  if (init.code !== 0) throw new Error("init failed, but validate did not");
  return true;
}

async function hasFolders(folder: string): Promise<boolean> {
  return (await readdir(folder, { withFileTypes: true })).some((entry) => entry.isDirectory());
}

async function replaceConfiguration(work: string, folder: string): Promise<void> {
  for (const name of await readdir(work)) {
    if (!name.startsWith("terraform.tfstate")) await rm(join(work, name), { recursive: true });
  }
  await cp(folder, work, { recursive: true });
}

async function drift(path: string, text: string | null): Promise<void> {
  if (text === null) return rm(path);
  await mkdir(dirname(path), { recursive: true });
  return writeFile(path, text);
}

function planArguments(step: CaseStep): string[] {
  const mode =
    step.mode === "destroy" ? ["-destroy"] : step.mode === "refresh-only" ? ["-refresh-only"] : [];
  return [
    "plan",
    "-json",
    "-input=false",
    "-detailed-exitcode",
    ...step.inputs,
    ...mode,
    ...step.targets.map((target) => `-target=${target}`),
    ...step.replace.map((address) => `-replace=${address}`),
    ...(step.refresh ? [] : ["-refresh=false"]),
  ];
}

async function replan(step: CaseStep, state: CaseRun): Promise<JsonObject> {
  const { run, ids } = state;
  const planFile = join(state.scratch, `${step.name}.replan`);
  const words = [
    "plan",
    "-json",
    "-input=false",
    "-detailed-exitcode",
    ...step.inputs,
    `-out=${planFile}`,
  ];
  const { code, events } = await run.stream(words, step.env);
  const out: Record<string, Json> = {
    exit: exitOf(code),
    diagnostics: problemRows(problemsOf(events), ids),
  };
  if (code === 0) {
    // Nothing changes.
    out.actions = {};
    out.output_actions = {};
  } else if (code === 2) {
    const { resource_changes: changes, output_changes: outputs } = await showPlan(
      planFile,
      step,
      state,
    );
    out.actions = actionsOf(listOf(changes).filter((change) => !isNoOp(objectOf(change).actions)));
    out.output_actions = Object.fromEntries(
      Object.entries(objectOf(outputs))
        .map(([name, change]) => [name, objectOf(change).actions ?? null] as const)
        .filter(([, actions]) => !isNoOp(actions)),
    );
  }
  return out;
}

function isNoOp(actions: Json | undefined): boolean {
  return listOf(actions)[0] === "no-op";
}

function actionsOf(changes: readonly Json[]): JsonObject {
  return Object.fromEntries(
    changes
      .map(objectOf)
      .map((change) => [
        `${textOf(change.address)}${change.deposed === true ? " (deposed)" : ""}`,
        change.actions ?? null,
      ]),
  );
}

async function showPlan(planFile: string, step: CaseStep, state: CaseRun): Promise<JsonObject> {
  const { code, output, error } = await state.run.run([...state.tool.show, planFile], step.env);
  if (code !== 0) throw new Error(`show of a plan ended with ${code}: ${error}`);
  return state.ids.clean(planRows(objectOf(parseExact(output))));
}

async function finish(
  out: Record<string, Json>,
  before: JsonObject,
  stage: "validate" | "plan" | "apply" | undefined,
  { run, tool, ids }: CaseRun,
): Promise<JsonObject> {
  if (stage !== undefined) {
    out.result = "error";
    out.stage = stage;
    const own = errorsOf(out[stage]);
    const ofInit = errorsOf(out.init);
    out.errors = stage === "validate" && ofInit.length > 0 ? ofInit : own;
  }
  const after = await tool.state(run);
  ids.learn(after);
  out.state = stateRows(after, before, ids);
  out.outputs = ids.clean(
    Object.fromEntries(
      Object.entries(objectOf(after.outputs)).map(([name, output]) => {
        const { value = null, type = null, sensitive } = objectOf(output);
        return [name, { value, type, sensitive: sensitive === true }];
      }),
    ),
  );
  out.checks = checkRows(after);
  return out;
}

function errorsOf(part: Json | undefined): Json[] {
  return listOf(objectOf(part).diagnostics).filter(
    (problem) => objectOf(problem).severity === "error",
  );
}

async function recordDestroy(step: CaseStep, state: CaseRun): Promise<JsonObject> {
  const { run, tool, ids } = state;
  const planFile = join(state.scratch, "destroy.plan");
  const words = [
    ...planArguments({ ...step, mode: "destroy", targets: [], replace: [], refresh: true }),
  ];
  const planned = await run.stream([...words, `-out=${planFile}`], step.env);
  const out: Record<string, Json> = {};
  const plan: Record<string, Json> = {
    exit: exitOf(planned.code),
    diagnostics: problemRows(problemsOf(planned.events), ids),
  };
  out.plan = plan;
  if (planned.code === 0 || planned.code === 2) {
    const { resource_changes: changes } = await showPlan(planFile, step, state);
    plan.actions = actionsOf(listOf(changes));
    const again = step.inputsAtApply ? step.inputs : [];
    const { code, events } = await run.stream(
      [tool.apply, "-json", "-input=false", ...again, planFile],
      step.env,
    );
    out.apply = {
      exit: exitOf(code),
      diagnostics: problemRows(problemsOf(events), ids),
      ...(state.test.ordered && { order: orderOf(events) }),
    };
  }
  const after = await tool.state(run);
  out.remaining = stateRows(after, {}, ids).map(({ address = null }) => address);
  out.remaining_outputs = Object.keys(objectOf(after.outputs)).toSorted();
  return out;
}

function problemsOf(events: readonly JsonObject[]): Json[] {
  return events.flatMap(({ type, diagnostic }) =>
    type === "diagnostic" && isObject(diagnostic) ? [diagnostic] : [],
  );
}

function orderOf(events: readonly JsonObject[]): Json[] {
  return events
    .filter(({ type }) => type === "apply_complete")
    .map(({ hook }) => {
      const { action, resource } = objectOf(hook);
      return `${textOf(action)} ${textOf(objectOf(resource).addr)}`;
    });
}

function exitOf(code: number): ExactNumber {
  return new ExactNumber(String(code));
}
