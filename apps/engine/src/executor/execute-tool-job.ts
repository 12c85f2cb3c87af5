import { createReadStream } from "node:fs";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  concealPlan,
  hasChanges,
  planToJson,
  type Redactor,
  summarizePlan,
} from "@stackwright/core";
import { encodeJson, unmarkDeep } from "@stackwright/cty";
import { createDirectoryFiles, hasErrors, loadModule, selectModuleFiles } from "@stackwright/lang";
import { planView } from "@stackwright/plan-view";
import { LOCK_FILE_NAME } from "@stackwright/provider-source";
import { APPLY_UNKNOWN } from "../queue/stack-tool.ts";
import { readStateContent, storeStateContent } from "../terraform-state/state-content.ts";
import type { ExecutionJob, ExecutionResult, JobTool } from "./execution-job.ts";
import type { ExecutionSignals } from "./execution-signals.ts";
import type { ExecutionHost } from "./executor.ts";
import { filesFrom } from "./folder-files.ts";
import { type JobGround, jobKeys, jobVariables, openJobState } from "./job-engine.ts";
import { secretsOf, secretTextsOf } from "./job-secrets.ts";
import {
  planOfJson,
  provisionedResources,
  readPlanJson,
  secretTextsOfJson,
} from "./plan-of-json.ts";
import { requireAdopted } from "./require-adopted.ts";
import { prepareToolFolder, requireOwnBackend, type ToolFolder } from "./tool-folder.ts";
import { decodeToolPlan, encodeToolPlan } from "./tool-plan.ts";
import { runTool, type ToolCall, type ToolEnd } from "./tool-process.ts";
import { unpackBundle } from "./unpack-bundle.ts";

type ToolJob = ExecutionJob & { readonly tool: JobTool };

/** What a step has at hand. */
interface Step {
  readonly job: ToolJob;
  readonly host: ExecutionHost;
  readonly signals: ExecutionSignals;
  readonly ground: JobGround;
  readonly folder: ToolFolder;
  /** Of the unpacked bundle. */
  readonly bundle: string;
  readonly secrets: Redactor;
  /** Of the program. */
  readonly version: string;
}

/** Bytes of a plan in JSON, and of a saved plan. */
const MAX_PLAN_BYTES = 256 * 1024 ** 2;
/** How often a state is looked at while it is being written. */
const LOOK_MS = 1_000;
/** How long the last state of an apply is tried to be stored. */
const STORE_MS = 120_000;

/** A step that ends the run as failed. */
class StepFailure extends Error {
  readonly reasonCode: string;

  constructor(reasonCode: string, message: string) {
    super(message);
    this.reasonCode = reasonCode;
  }
}

/**
 * Executes one step of a run by an installed program: in the unpacked configuration, with the state of the stack in a file, and with
 * the variables of the stack. The saved plan is what is applied. An apply whose outcome is not known is never begun again.
 */
export async function executeToolJob(
  job: ToolJob,
  host: ExecutionHost,
  signals: ExecutionSignals,
  ground: JobGround,
): Promise<ExecutionResult> {
  const { step, tool } = job;
  if (step === "recover") return unknownOutcome(job, signals, ground);
  try {
    if (step === "plan") await host.beginPlanning();
    const prepared = await prepare(job, host, signals, ground);
    return await (step === "plan" ? makePlan(prepared) : apply(prepared));
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    if (signals.stop.aborted) return { phase: "canceled", reason: "canceled" };
    return {
      phase: "failed",
      reason: `${tool.name}: ${error.message}`,
      reasonCode: error.reasonCode,
    };
  }
}

/**
 * The worker of an apply was lost. What the program did then is not known beyond the state that was recorded, so that nothing is done
 * again: somebody looks at the plan that the next run makes.
 */
async function unknownOutcome(
  job: ToolJob,
  { stop }: ExecutionSignals,
  ground: JobGround,
): Promise<ExecutionResult> {
  // The program ended with the hold of its executor.
  await using _hold = await openJobState(job, ground).acquire({ signal: stop });
  return {
    phase: "partially_applied",
    reason: `the outcome of the apply by ${job.tool.name} is not known: it was interrupted, and the state is as it was written last; compare the next plan with the real objects, as some may exist that the state does not have`,
    reasonCode: APPLY_UNKNOWN,
  };
}

async function prepare(
  job: ToolJob,
  host: ExecutionHost,
  signals: ExecutionSignals,
  ground: JobGround,
): Promise<Step> {
  const { tool } = job;
  const { stop: signal } = signals;
  const bundle = await unpackBundle(job, ground.blobs, signal);
  const { root = "" } = job.configuration;
  const directory = join(bundle, root);
  // The tool may add hashes to it.
  await chmod(join(directory, LOCK_FILE_NAME), 0o600).catch(() => undefined);
  await refuseForeignState(job, bundle, root, directory);
  const folder = await prepareToolFolder(job, directory, ground.env);
  const secrets = secretsOf(job);
  const step = { job, host, signals, ground, folder, bundle, secrets, version: "" };
  if (folder.dropped.length > 0) {
    say(
      step,
      `The variables ${folder.dropped.join(", ")} are set by the server, not by the stack.`,
    );
  }
  if (tool.state !== undefined) {
    const { contentSha256 } = tool.state;
    const content = readStateContent({ blobs: ground.blobs, keys: jobKeys(job) }, job.stack, {
      contentSha256,
    });
    await writeFile(folder.statePath, content, { mode: 0o600 });
  }
  const version = await versionOf(step);
  if (tool.version !== "" && version !== tool.version) {
    throw new StepFailure(
      "tool_version",
      `the worker has the version ${version}, and the stack needs ${tool.version}`,
    );
  }
  const init = await run(step, ["init", "-input=false", "-no-color"]);
  requireSuccess(step, init, "init");
  await requireOwnBackend(folder);
  return { ...step, version };
}

/** An empty stack whose configuration has a state elsewhere is not planned, as its plan would create everything again. */
async function refuseForeignState(
  job: ToolJob,
  bundle: string,
  root: string,
  directory: string,
): Promise<void> {
  const { config, diagnostics } = rootModule(bundle, root);
  await requireAdopted(job, {
    root: hasErrors(diagnostics) ? undefined : config,
    directory,
    isEmpty: async () => Promise.resolve(job.tool.state === undefined),
  });
}

function rootModule(bundle: string, root: string) {
  const files = filesFrom(createDirectoryFiles(bundle), root);
  const { primary, override } = selectModuleFiles(files.names(""));
  return loadModule(new Map([...primary, ...override].map((name) => [name, files.read(name)])));
}

async function versionOf(step: Step): Promise<string> {
  const end = await run(step, ["version", "-json"], { keepBytes: 64 * 1024 });
  requireSuccess(step, end, "version");
  try {
    const { terraform_version: version } = JSON.parse(end.output) as {
      terraform_version?: unknown;
    };
    if (typeof version === "string" && /^[0-9]/.test(version)) return version;
  } catch {
    // Said below.
  }
  throw new StepFailure("tool_output", `"version -json" names no version`);
}

async function makePlan(step: Step): Promise<ExecutionResult> {
  const { job, ground, secrets, signals, version } = step;
  const { tool, mode, targets, replace } = job;
  const out = join(job.folder, "plan.out");
  const end = await run(step, [
    "plan",
    "-input=false",
    "-no-color",
    "-detailed-exitcode",
    `-out=${out}`,
    ...(await variableWords(step)),
    ...(mode === "destroy" ? ["-destroy"] : []),
    ...(mode === "refresh-only" ? ["-refresh-only"] : []),
    ...(job.skipRefresh === true ? ["-refresh=false"] : []),
    ...targets.map((address) => `-target=${address}`),
    ...replace.map((address) => `-replace=${address}`),
  ]);
  if (end.code !== 2) requireSuccess(step, end, "plan");
  const shown = await run(step, ["show", "-json", out], { keepBytes: MAX_PLAN_BYTES });
  requireSuccess(step, shown, "show -json");
  const stateNumber = tool.state?.number ?? "0";
  const plan = readPlan(step, shown.output, BigInt(stateNumber));
  const { json } = plan;
  const provisioned = job.provisioners ? [] : provisionedResources(json);
  if (provisioned.length > 0) {
    throw new StepFailure(
      "provisioners",
      `the project is not allowed to execute provisioners, which ${provisioned.slice(0, 5).join(", ")} has; see --provisioner-project`,
    );
  }
  for (const text of secretTextsOfJson(json)) secrets.add(text);
  const { applyable } = json as { readonly applyable?: unknown };
  const isEmpty =
    end.code === 0 && applyable !== true ? true : applyable === false && !hasChanges(plan.plan);
  if (isEmpty && tool.keepsPlan !== true) return { phase: "no_changes", revision: stateNumber };
  if ((await stat(out)).size > MAX_PLAN_BYTES) {
    throw new StepFailure("tool_output", "the saved plan is too large");
  }
  const bytes = encodeToolPlan({
    tool: tool.name,
    version,
    json: shown.output,
    file: await readFile(out),
    stateNumber,
  });
  const state = openJobState(job, ground);
  const { digest } = await state.storePlan(
    { baseRevision: BigInt(stateNumber), bytes },
    { signal: signals.stop },
  );
  if (isEmpty) return { phase: "no_changes", revision: stateNumber, planDigest: digest };
  const writing = { signal: signals.stop, owner: job.stack.account };
  const hidden = secretTextsOf(job);
  const text = planToJson(plan.plan, digest, { secrets: hidden });
  const view = JSON.stringify(planView(concealPlan(plan.plan, hidden), { planDigest: digest }));
  const document = await ground.blobs.write(Buffer.from(text), writing);
  const viewed = await ground.blobs.write(Buffer.from(view), writing);
  const { read: _, ...summary } = summarizePlan(plan.plan);
  return {
    phase: "planned",
    planDigest: digest,
    baseRevision: stateNumber,
    summary,
    documentSha256: document.sha256,
    viewSha256: viewed.sha256,
  };
}

function readPlan({ job }: Step, text: string, revision: bigint) {
  const { stack, workspace, mode, targets, replace } = job;
  try {
    const json = readPlanJson(text);
    const facts = { stack: stack.stack, revision, workspace, mode, targets, replace };
    return { json, plan: planOfJson(json, { ...facts, createdAtMs: Date.now() }) };
  } catch (error) {
    // A syntax error quotes the text, which may hold secrets.
    const why = error instanceof TypeError ? error.message : "it is not JSON";
    throw new StepFailure("tool_output", `"show -json" wrote no plan: ${why}`);
  }
}

/** Values that the stack and the run give to variables which the configuration declares, as a file of values. */
async function variableWords({ job, bundle, folder }: Step): Promise<readonly string[]> {
  const { config } = rootModule(bundle, job.configuration.root ?? "");
  const { values } = await jobVariables(job, config.variables, folder.directory);
  const given = [...Object.keys(job.variables), ...Object.keys(job.runVariables ?? {})];
  const members = [...new Set(given)].flatMap((name) => {
    const value = values.get(name);
    if (value === undefined || !config.variables.has(name)) return [];
    return [`${JSON.stringify(name)}: ${encodeJson(unmarkDeep(value)[0])}`];
  });
  if (members.length === 0) return [];
  const path = join(job.folder, "stack.tfvars.json");
  await writeFile(path, `{${members.join(", ")}}`, { mode: 0o600 });
  return [`-var-file=${path}`];
}

async function apply(step: Step): Promise<ExecutionResult> {
  const { job, host, ground, signals, secrets } = step;
  const { stop } = signals;
  const state = openJobState(job, ground);
  const stored = await state.plan(job.planDigest ?? "", { signal: stop });
  const plan = stored && decodeToolPlan(stored.bytes);
  if (plan === undefined || plan.tool !== job.tool.name) {
    throw new StepFailure("plan_missing", "the approved plan is not stored");
  }
  if (plan.version !== step.version) {
    throw new StepFailure(
      "tool_version",
      `the plan was made by the version ${plan.version}, and the worker has ${step.version}`,
    );
  }
  for (const text of secretTextsOfJson(readPlanJson(plan.json))) secrets.add(text);
  const file = join(job.folder, "plan.out");
  await writeFile(file, plan.file, { mode: 0o600 });
  await using hold = await state.acquire({ signal: stop });
  stop.throwIfAborted();
  await host.beginApply(hold.epoch);
  try {
    const force = AbortSignal.any([signals.force, hold.signal]);
    const recorder = new StateRecorder(step);
    await recorder.begin();
    const over = new AbortController();
    const watching = recorder.watch(over.signal);
    const end = await run({ ...step, signals: { stop, force } }, [
      "apply",
      "-input=false",
      "-no-color",
      file,
    ]).finally(() => over.abort());
    await watching;
    await recorder.finish(hold.signal);
    return applied(step, end, recorder.hasChanged, hold.signal.aborted);
  } catch (error) {
    // It began: what it did is known by the state alone, which the next executor leaves as it is.
    return { phase: "interrupted", reason: error instanceof Error ? error.message : String(error) };
  }
}

function applied(step: Step, end: ToolEnd, hasChanged: boolean, isLost: boolean): ExecutionResult {
  const { name } = step.job.tool;
  if (end.code === 0) return { phase: "applied" };
  if (end.code === undefined || isLost) {
    return { phase: "interrupted", reason: `${name} was ended while it applied the plan` };
  }
  const isStopped = step.signals.stop.aborted;
  const reason = isStopped ? "canceled" : `${name}: ${errorOf(end)}`;
  if (hasChanged) return { phase: "partially_applied", reason };
  return isStopped
    ? { phase: "canceled", reason }
    : { phase: "failed", reason, reasonCode: "tool" };
}

/** Stores the state that a tool writes, as it writes it. */
class StateRecorder {
  readonly #step: Step;
  #seen: string;
  #hasChanged = false;

  constructor(step: Step) {
    this.#step = step;
    this.#seen = "";
  }

  /** Whether the tool wrote a state. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** Notes what is there before the tool starts: a fast one has written its state before the first look. */
  async begin(): Promise<void> {
    this.#seen = await this.#mark();
  }

  /** Looks at the file until the signal aborts. Never rejects. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
      // A file that is being written is seen again, complete.
      if (!signal.aborted) await this.#look(signal).catch(() => undefined);
    }
  }

  /** Stores what is there at the end; while the store is away, that is tried again. */
  async finish(lost: AbortSignal): Promise<void> {
    const untilMs = performance.now() + STORE_MS;
    for (;;) {
      try {
        return await this.#look(lost);
      } catch (error) {
        if (lost.aborted || performance.now() > untilMs) throw error;
        await pause(LOOK_MS, undefined, { signal: lost }).catch(() => undefined);
      }
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const mark = await this.#mark();
    if (mark === this.#seen || mark === "") return;
    const { job, host, ground } = this.#step;
    const { serial, bytes, serialOffset, ...content } = await storeStateContent(
      { blobs: ground.blobs, keys: jobKeys(job) },
      { stack: job.stack, content: createReadStream(await this.#path()), signal },
    );
    await host.recordState({
      ...content,
      serial: serial.toString(),
      bytes: bytes.toString(),
      serialOffset: serialOffset.toString(),
    });
    this.#seen = mark;
    this.#hasChanged = true;
  }

  /** Where a tool that cannot write its state writes it instead. */
  async #path(): Promise<string> {
    const { erroredPath, statePath } = this.#step.folder;
    return (await stat(erroredPath).catch(() => undefined)) === undefined ? statePath : erroredPath;
  }

  async #mark(): Promise<string> {
    const path = await this.#path();
    const found = await stat(path, { bigint: true }).catch(() => undefined);
    return found === undefined ? "" : `${path} ${found.mtimeNs} ${found.size}`;
  }
}

/** Runs the tool; what it writes becomes events of the run, unless it is kept. */
async function run(
  step: Step,
  words: readonly string[],
  more: Pick<ToolCall, "keepBytes"> = {},
): Promise<ToolEnd> {
  const { job, host, signals, ground, folder, secrets } = step;
  const { name, path } = job.tool;
  if (path === undefined) {
    throw new StepFailure("tool_missing", "the worker does not offer it; see --tool");
  }
  const onLine = (text: string): Promise<void> | undefined => log(host, name, text);
  try {
    return await runTool({
      ...more,
      ...signals,
      path,
      words,
      directory: folder.directory,
      env: folder.env,
      secrets,
      onLine,
      ...(ground.groupsTools === true && { ownGroup: true }),
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EACCES") throw error;
    throw new StepFailure("tool_missing", `the worker cannot start it (${code})`);
  }
}

function log(host: ExecutionHost, source: string, text: string): Promise<void> | undefined {
  return host.onEvent({ type: "log", source, level: "info", text }, Date.now());
}

function say({ host, job }: Pick<Step, "host" | "job">, text: string): void {
  void log(host, job.tool.name, text);
}

function requireSuccess(step: Step, end: ToolEnd, what: string): void {
  if (end.code === 0) return;
  step.signals.stop.throwIfAborted();
  if (end.isTooLarge) throw new StepFailure("tool_output", `"${what}" wrote too much`);
  const how = end.code === undefined ? "was ended by a signal" : `failed with code ${end.code}`;
  throw new StepFailure("tool", `"${what}" ${how}: ${errorOf(end)}`);
}

/** The first error that a tool wrote, or its last line. */
function errorOf({ tail }: ToolEnd): string {
  const lines = tail.map((line) => line.replace(/^[│╷╵ ]+/, "").trim()).filter(Boolean);
  const at = lines.findIndex((line) => line.startsWith("Error: "));
  if (at === -1) return lines.at(-1) ?? "it wrote nothing";
  return lines
    .slice(at, at + 3)
    .join(" ")
    .slice(0, 1_000);
}
