import { join } from "node:path";
import {
  type AnsweredSchema,
  type Configuration,
  concealPlan,
  createMeantSource,
  type DeferredPart,
  decodePlan,
  type Engine,
  GatheredSchemas,
  hasChanges,
  loadConfiguration,
  type Plan,
  type PlannedStackFinder,
  planToJson,
  planToRenderedJson,
  planToTerraformJson,
  planVariables,
  type RunEvent,
  replacementsLeft,
  type StackState,
  stuckAdvice,
  stuckBecause,
  summarizePlan,
} from "@stackwright/core";
import { EngineError, isEngineError } from "@stackwright/core/errors";
import { type Diagnostic, hasErrors } from "@stackwright/lang";
import { planView } from "@stackwright/plan-view";
import { LOCK_FILE_NAME, LockFile, readLockFile } from "@stackwright/provider-source";
import { isStorageError } from "@stackwright/storage";
import { requireEnvironmentValues } from "../domain/environment-values.ts";
import type { ProviderVersion } from "../domain/registry-query.ts";
import { MAX_LEFT, MAX_LEFT_TEXT } from "../domain/run-stages.ts";
import { diagnosticEvent, firstError } from "./diagnostic-event.ts";
import { driftOf } from "./drift-of.ts";
import { withConstraints } from "./effective-constraints.ts";
import { endOfHistory } from "./end-of-history.ts";
import { executeShadowJob } from "./execute-shadow-job.ts";
import { executeToolJob } from "./execute-tool-job.ts";
import type { ContestedVariable, ExecutionJob, ExecutionResult } from "./execution-job.ts";
import type { ExecutionSignals } from "./execution-signals.ts";
import type { ExecutionHost } from "./executor.ts";
import { uploadedFiles } from "./folder-files.ts";
import { ForwardedRuns } from "./forwarded-runs.ts";
import { HandedSchemas } from "./hand-in-schemas.ts";
import { notImported, withImportBlocks } from "./import-blocks.ts";
import {
  type JobGround,
  jobEarlyValues,
  jobVariables,
  openJobEngine,
  openJobState,
} from "./job-engine.ts";
import { openJobIdentity } from "./job-identity.ts";
import { openJobModules } from "./job-modules.ts";
import { secretsOf, secretTextsOf } from "./job-secrets.ts";
import { noSpaceReason } from "./no-space.ts";
import { otherAdopters, otherStacks, plannedStacks } from "./other-stacks.ts";
import { jobPrivateProviders } from "./private-providers.ts";
import { recoveryProviders, recoveryVersions } from "./recovery-providers.ts";
import { requireAdopted } from "./require-adopted.ts";
import { requireRootModule } from "./require-root-module.ts";
import { refusedVersions } from "./require-usable-providers.ts";
import { runHooks, runLastHooks } from "./run-hooks.ts";
import { unpackBundle } from "./unpack-bundle.ts";

/** Events of one step by their names in a log, in which `end` is the end of the run. */
const STEP_EVENTS: Readonly<Partial<Record<RunEvent["type"], string>>> = {
  start: "step-start",
  progress: "step-progress",
  end: "step-end",
};

/** Characters of why a recovery waits. */
const MAX_BLOCK_TEXT = 4_096;

/** Executes one step of a run: over the store that it is given, and with nothing else of the server. */
export async function executeJob(
  given: ExecutionJob,
  host: ExecutionHost,
  signals: ExecutionSignals,
  ground: JobGround,
): Promise<ExecutionResult> {
  let identity: Awaited<ReturnType<typeof openJobIdentity>>;
  try {
    identity = await openJobIdentity(given, host);
  } catch (error) {
    return failure(error, given, signals);
  }
  await using _identity = identity;
  const { job } = identity;
  const secrets = secretsOf(job);
  identity.hideFrom(secrets);
  const quiet: ExecutionHost = {
    beginPlanning: async () => host.beginPlanning(),
    beginApply: async (epoch) => host.beginApply(epoch),
    readOtherStack: async (name) => host.readOtherStack(name),
    identityTokens: async () => host.identityTokens(),
    readRegistry: async (query) => host.readRegistry(query),
    recordState: async (content) => host.recordState(content),
    handInSchema: async (offered) => host.handInSchema(offered),
    // A short secret may be part of a type, which is no text.
    onEvent: (event, at) => host.onEvent({ ...secrets.redactData(event), type: event.type }, at),
  };
  let result: ExecutionResult;
  try {
    result = await execute(job, quiet, signals, ground);
  } catch (error) {
    result = failure(error, job, signals);
  }
  if (!("reason" in result) || result.reason === undefined) return result;
  return { ...result, reason: secrets.redact(result.reason) };
}

async function execute(
  job: ExecutionJob,
  host: ExecutionHost,
  signals: ExecutionSignals,
  ground: JobGround,
): Promise<ExecutionResult> {
  const { step, tool, shadow } = job;
  if (step !== "recover") requireEnvironmentValues(job.environment);
  if (step === "plan" && shadow === undefined) {
    for (const name of job.replacedValues ?? []) {
      void host.onEvent(diagnosticEvent(replacedValue(name)), Date.now());
    }
    for (const one of job.contestedVariables ?? []) {
      void host.onEvent(diagnosticEvent(contestedVariable(one)), Date.now());
    }
  }
  if (tool !== undefined) return executeToolJob({ ...job, tool }, host, signals, ground);
  if (shadow !== undefined) return executeShadowJob({ ...job, shadow }, host, signals, ground);
  const { stop: signal } = signals;
  const state = openJobState(job, ground);
  if (step === "plan") await host.beginPlanning();
  const ended = step === "recover" ? await endedApply(job, state, signal) : undefined;
  if (ended !== undefined) return ended;
  requireEnvironmentValues(job.environment);
  const bundle = await unpackBundle(job, ground.blobs, signal);
  const { root = "" } = job.configuration;
  const directory = join(bundle, root);
  const hooks = { job, host, signals, ground, directory };
  if (step !== "recover") await runHooks(hooks, step === "plan" ? "before_plan" : "before_apply");
  await requireRootModule(job, directory);
  const files = withImportBlocks(uploadedFiles(bundle, root), job.imports);
  const early = await jobEarlyValues(job, directory);
  const lockFile = await readLockFile(join(directory, LOCK_FILE_NAME), { signal });
  const meantSource = createMeantSource({ lock: lockFile?.locks ?? LockFile.empty });
  const { blobs, env } = ground;
  const modules = await openJobModules({ job, host, blobs, files, directory, env, signal });
  const { packages } = modules;
  // The form in which the RFS documents declare private providers: templates of its clients have it.
  const rfsTemplates = true;
  const configuration = await loadConfiguration(files, {
    early,
    meantSource,
    packages,
    rfsTemplates,
  });
  const isComplete = !hasErrors(configuration.diagnostics);
  const moduleLock = isComplete ? await modules.finish(configuration.root) : undefined;
  const phase = { plan: "planning", apply: "approved", recover: "applying" } as const;
  const runs = new ForwardedRuns(job.run, phase[step], async (epoch) => host.beginApply(epoch));
  const report = (found: readonly Diagnostic[]): void => {
    for (const diagnostic of found) void host.onEvent(diagnosticEvent(diagnostic), Date.now());
  };
  let outputRoom: Promise<void> | undefined;
  const onEvent = (event: RunEvent): void => {
    if (event.type === "diagnostic") return;
    const type = STEP_EVENTS[event.type] ?? event.type;
    const room = host.onEvent({ ...event, type }, Date.now());
    if (event.type === "provision-output") outputRoom = room;
  };
  await requireAdopted(job, {
    root: hasErrors(configuration.diagnostics) ? undefined : configuration.root.config,
    directory,
    isEmpty: async () => (await state.read({ signal })).objects.size === 0,
  });
  const variables = await jobVariables(job, configuration.root.config.variables, directory);
  if (hasErrors([...configuration.diagnostics, ...variables.diagnostics])) {
    report([...configuration.diagnostics, ...variables.diagnostics]);
    if (step === "recover") {
      const first = firstError([...configuration.diagnostics, ...variables.diagnostics]);
      return { phase: "interrupted", reason: `the configuration has errors: ${first}` };
    }
    return { phase: "failed", reason: "the configuration has errors", reasonCode: "configuration" };
  }
  const stacks = otherStacks(host.readOtherStack);
  const findAdopter = otherAdopters(host.readOtherStack, job.stack);
  await using functions = jobPrivateProviders(host, job.ownHosts);
  const privateProviders = functions.origin;
  const opened = {
    configuration,
    directory,
    state,
    runs,
    stacks,
    findAdopter,
    host,
    privateProviders,
    outputRoom: () => outputRoom,
    signal,
  };
  const given = { configuration, state, onEvent, signal, variables: variables.values };
  if (step === "plan") {
    const schemas = new HandedSchemas({ host, blobs, account: job.stack.account });
    const onSchema = (answered: AnsweredSchema): void => schemas.add(answered);
    const engine = await openJobEngine(job, ground, { ...opened, onSchema });
    const afterPlan = async (planJson: string): Promise<void> => {
      await runHooks(hooks, "after_plan", { planJson });
    };
    const planned = job.ofSet === true ? plannedStacks(host.readOtherStack) : undefined;
    const made = await makePlan(job, ground, engine, {
      ...given,
      report,
      schemas: new GatheredSchemas(),
      afterPlan,
      moduleLock,
      ...(planned && { planned }),
    });
    await schemas.finish(signal);
    return withConstraints(made, configuration);
  }
  if (step === "recover") {
    const { objects } = await state.read({ signal });
    const only = recoveryProviders(objects, configuration);
    let engine: Engine;
    try {
      engine = await openJobEngine(job, ground, { ...opened, only });
    } catch (error) {
      const versions = recoveryVersions(only, objects, lockFile?.locks ?? LockFile.empty);
      return await unopened(error, versions, host, signal);
    }
    return await recover(job, engine, runs, { ...given, only, report });
  }
  const stored = await state.plan(job.planDigest ?? "", { signal });
  const plan = stored && decodePlan(stored.bytes);
  if (plan === undefined) {
    return {
      phase: "failed",
      reason: "the approved plan is not stored",
      reasonCode: "plan_missing",
    };
  }
  const engine = await openJobEngine(job, ground, { ...opened, plan });
  const end = await apply(job, engine, runs, { ...given, plan, report, signals });
  return await runLastHooks(hooks, withConstraints(end, configuration));
}

interface Given {
  readonly configuration: Configuration;
  readonly state: StackState;
  readonly variables: Plan["variables"];
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
  readonly report: (found: readonly Diagnostic[]) => void;
}

async function makePlan(
  job: ExecutionJob,
  { blobs }: JobGround,
  engine: Engine,
  {
    report,
    schemas,
    afterPlan,
    moduleLock,
    ...given
  }: Given & {
    /** Those of the providers that the plan starts. */
    readonly schemas: GatheredSchemas;
    readonly planned?: PlannedStackFinder;
    readonly afterPlan: (planJson: string) => Promise<void>;
    readonly moduleLock: string | undefined;
  },
): Promise<ExecutionResult> {
  const { stack, mode, targets, replace, workspace } = job;
  const { plan, diagnostics } = await engine.plan({
    ...given,
    workspace,
    onProviderSchema: (source, schema) => schemas.add(source, schema),
    options: {
      mode,
      targets,
      replace,
      ...(job.skipRefresh === true && { read: { kind: "never" } }),
      ...(job.pureProviders !== undefined && { pureProviders: job.pureProviders }),
      ...(job.stage !== undefined && { staged: true }),
    },
  });
  report(diagnostics);
  if (plan === undefined) {
    return { phase: "failed", reason: firstError(diagnostics), reasonCode: "plan" };
  }
  const missing = notImported(plan, job.imports);
  if (missing !== undefined) {
    return { phase: "failed", reason: missing, reasonCode: "not_imported" };
  }
  const { deferred = [] } = plan;
  const stuck = job.stage && stuckInStage(job.stage, deferred, hasChanges(plan));
  if (stuck !== undefined) return { phase: "failed", reason: stuck, reasonCode: "stage_stuck" };
  const secrets = secretTextsOf(job);
  // What is secret is known here: a variable may be another one when the plan is read.
  const concealed = concealPlan(plan, secrets);
  const planJson = planToTerraformJson(concealed);
  await afterPlan(planJson);
  if (!hasChanges(plan)) return { phase: "no_changes", revision: plan.revision.toString() };
  const writing = { signal: given.signal, owner: stack.account };
  // Each is a way to the store and back.
  const [{ digest }, json] = await Promise.all([
    engine.savePlan(given.state, plan),
    blobs.write(Buffer.from(planJson), writing),
  ]);
  const viewed = viewTextOf(concealed, digest, report);
  const { configuration } = given;
  const rendered = planToRenderedJson(concealed, { configuration, schemas });
  const [document, view, shown] = await Promise.all([
    blobs.write(Buffer.from(planToJson(plan, digest, { secrets })), writing),
    viewed === undefined ? undefined : blobs.write(Buffer.from(viewed), writing),
    rendered === undefined ? undefined : blobs.write(Buffer.from(rendered), writing),
  ]);
  const { read: _, ...summary } = summarizePlan(plan);
  return {
    phase: "planned",
    planDigest: digest,
    baseRevision: plan.revision.toString(),
    summary,
    documentSha256: document.sha256,
    viewSha256: view?.sha256 ?? "",
    jsonSha256: json.sha256,
    ...(shown !== undefined && { renderedSha256: shown.sha256 }),
    ...(moduleLock !== undefined && { moduleLock }),
    ...(deferred.length > 0 && {
      left: {
        parts: deferred.slice(0, MAX_LEFT).map(({ address }) => address.slice(0, MAX_LEFT_TEXT)),
        replace: replacementsLeft(plan),
      },
    }),
    ...(job.findsDrift === true && { drift: driftOf(plan, secretsOf(job)) }),
  };
}

/** Why no further stage leads on; undefined where one may. */
function stuckInStage(
  { number: stage, before }: NonNullable<ExecutionJob["stage"]>,
  left: readonly DeferredPart[],
  changes: boolean,
): string | undefined {
  // Of more the run does not remember all.
  const last = before.length < MAX_LEFT ? before : [];
  const why = stuckBecause({ stage, last, left, hasChanges: changes });
  if (why === undefined) return undefined;
  const named = left.slice(0, 5).map(({ address, because }) => `${address} (${because})`);
  const more = left.length > named.length ? ` and ${left.length - named.length} more` : "";
  return `some parts are left, and ${why}: ${named.join(", ")}${more}. ${stuckAdvice(left)}`;
}

/** The view of a plan. A plan without one can be read and approved by its document: the event says what failed. */
function viewTextOf(plan: Plan, planDigest: string, report: Given["report"]): string | undefined {
  try {
    return JSON.stringify(planView(plan, { planDigest }));
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    const summary = "There is no view of the plan";
    report([{ severity: "warning", code: "ENGINE_PLAN", summary, detail }]);
    return undefined;
  }
}

async function apply(
  { run }: ExecutionJob,
  engine: Engine,
  runs: ForwardedRuns,
  {
    plan,
    report,
    signals,
    variables,
    ...given
  }: Given & { readonly plan: Plan; readonly signals: ExecutionSignals },
): Promise<ExecutionResult> {
  const ephemeral = new Map([...variables].filter(([name]) => !plan.variables.has(name)));
  let refusal: unknown;
  const result = await engine
    .apply({
      ...given,
      plan,
      run,
      variables: planVariables(plan, ephemeral),
      forceSignal: signals.force,
    })
    .catch((error: unknown) => {
      if (runs.outcome === undefined) throw error;
      refusal = error;
      return undefined;
    });
  report(result?.diagnostics ?? []);
  const end = outcomeOf(runs, "the apply was interrupted");
  if (end.phase !== "failed" || !(refusal instanceof EngineError)) return end;
  return { ...end, reasonCode: refusal.code };
}

/**
 * How an apply ended whose result was not recorded, once its executor has left the stack; undefined where something of it is open. The
 * state alone says it: neither the configuration nor a provider is needed.
 */
async function endedApply(
  { run }: ExecutionJob,
  state: StackState,
  signal: AbortSignal,
): Promise<ExecutionResult | undefined> {
  await using _hold = await state.acquire({ signal });
  if ((await state.head()).run !== "") return undefined;
  return await recordedEnd(state, run);
}

async function recordedEnd(state: StackState, run: string): Promise<ExecutionResult> {
  return endOfHistory((await state.history({ limit: 20 })).find((one) => one.run === run));
}

/** What a recovery ends as whose providers cannot be opened: it waits for those that are refused, and is tried again otherwise. */
async function unopened(
  cause: unknown,
  versions: readonly ProviderVersion[],
  host: ExecutionHost,
  signal: AbortSignal,
): Promise<ExecutionResult> {
  signal.throwIfAborted();
  // Without an answer the first error says more.
  const refused = await refusedVersions(versions, host, signal).catch(() => []);
  if (refused.length === 0) throw cause;
  const reason = `what the apply left open is read by its provider: ${refused.join("; ")}`;
  return { phase: "interrupted", reason: reason.slice(0, MAX_BLOCK_TEXT), blocked: true };
}

/** Resolves the operations of an interrupted apply, by the providers that it needs. */
async function recover(
  { run }: ExecutionJob,
  engine: Engine,
  runs: ForwardedRuns,
  { report, state, only, ...given }: Given & { readonly only: ReadonlySet<string> },
): Promise<ExecutionResult> {
  await using hold = await state.acquire({ signal: given.signal });
  // Another writer of the stack may have recovered it meanwhile.
  if ((await state.head()).run === "") return await recordedEnd(state, run);
  const { diagnostics } = await engine.resolve({
    ...given,
    state,
    hold,
    resolve: () => undefined,
  });
  const { requirements } = given.configuration.resolution;
  const leftOut = new Set([...requirements.keys()].filter((source) => !only.has(source)));
  report(diagnostics.filter(({ provider }) => provider === undefined || !leftOut.has(provider)));
  return outcomeOf(runs, "the recovery was interrupted");
}

const ENDS = ["applied", "partially_applied", "failed", "canceled", "superseded"] as const;

function outcomeOf({ outcome }: ForwardedRuns, otherwise: string): ExecutionResult {
  const phase = ENDS.find((end) => end === outcome?.phase);
  if (outcome === undefined || phase === undefined) {
    return { phase: "interrupted", reason: otherwise };
  }
  const { revision, reason } = outcome;
  return {
    phase,
    ...(revision !== undefined && { revision: revision.toString() }),
    ...(reason !== undefined && { reason }),
  };
}

function failure(
  error: unknown,
  { step }: ExecutionJob,
  { stop }: ExecutionSignals,
): ExecutionResult {
  const reason = error instanceof Error ? error.message : String(error);
  const isLost =
    isEngineError(error, "ENGINE_FENCE_LOST") ||
    isStorageError(
      error,
      "STORAGE_INCONSISTENT",
      "STORAGE_LEASE_LOST",
      "STORAGE_PERMISSION_DENIED",
    );
  if (isLost || step === "recover") return { phase: "interrupted", reason };
  if (stop.aborted) return { phase: "canceled", reason: "canceled" };
  const noSpace = noSpaceReason(error);
  if (noSpace !== undefined) return { phase: "failed", reason: noSpace, reasonCode: "no_space" };
  const { code } = error as { code?: unknown };
  const reasonCode = typeof code === "string" ? code : "internal";
  return { phase: "failed", reason, reasonCode };
}

function replacedValue(name: string): Diagnostic {
  return {
    severity: "warning",
    code: "ENGINE_CONFIG",
    summary: "Value of a variable replaced",
    detail: `The run was requested with a value of the variable "${name}". A variable set with priority has another one, which the plan is made with.`,
  };
}

function contestedVariable(contested: ContestedVariable): Diagnostic {
  const { key, category, scope, set, others, isEnforced } = contested;
  const also = isEnforced ? "" : ", or give it to the stack";
  const named = others.map((other) => `"${other}"`).join(", ");
  return {
    severity: "warning",
    code: "ENGINE_CONFIG",
    summary: "Variable in several variable sets",
    detail: `"${key}" (${category}) is in the set "${set}" of the ${scope}, and in ${named}, which ${others.length === 1 ? "is" : "are"} of the same place and as strong. The first by name wins, which is "${set}". Keep it in one of them${also}.`,
  };
}
