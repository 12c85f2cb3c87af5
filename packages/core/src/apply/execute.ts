import type { Clock } from "@stackwright/base/clock";
import type { RetryPolicy } from "@stackwright/base/retry";
import type { Value } from "@stackwright/cty";
import { type Diagnostic, hasErrors } from "@stackwright/lang";
import type { ProviderCallLimits } from "@stackwright/mux/router";
import type { Configuration } from "../configuration/configuration.ts";
import { hasEphemerals } from "../ephemeral/ephemeral-users.ts";
import { EngineError } from "../errors.ts";
import type { RunEventHandler, StepStatus } from "../events.ts";
import type { Plan } from "../plan/plan.ts";
import type { ProviderCatalog } from "../providers/catalog.ts";
import { providerFunctions } from "../providers/provider-functions.ts";
import {
  ProviderInstances,
  providerChanged,
  versionText,
} from "../providers/provider-instances.ts";
import type { ProvisionerRunner } from "../provisioners/provisioner-runner.ts";
import { redactChecks } from "../redact-run.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { ApplyStatus } from "../state/apply-status.ts";
import type { CheckResult } from "../state/check-result.ts";
import {
  type AdopterFinder,
  checkInputs,
  mergeInputs,
  type StackFinder,
  StackInputs,
} from "../state/stack-inputs.ts";
import type { StackHead, StackInput, StackLock, StackOutput } from "../state/stack-state.ts";
import type { StateObject } from "../state/state-object.ts";
import { checkOfData } from "../walk/check-data.ts";
import type { EvaluationState } from "../walk/evaluation-state.ts";
import { type CallLimit, LimiterSet } from "../walk/limits.ts";
import { walkGraph } from "../walk/ready-queue.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import { createApplyEvaluationState } from "./apply-evaluation-state.ts";
import { ApplyRun } from "./apply-run.ts";
import { objectsWithOpenChecks } from "./deferred-checks.ts";
import { finalChecks } from "./final-checks.ts";
import { finalOutputs } from "./final-outputs.ts";
import { applyMoveRecords } from "./move-records.ts";
import { orderSteps } from "./order.ts";
import { recoverPendingOperations } from "./recover.ts";
import { secretOutputs } from "./secret-outputs.ts";
import { limitNames, StepRunner } from "./step-runner.ts";
import type { ApplyTimeouts } from "./timeouts.ts";
import { unreachedChecks } from "./unreached-checks.ts";

/** Everything that an apply needs. */
export interface ExecutePlanRequest {
  readonly plan: Plan;
  readonly configuration: Configuration;
  /** Values of the root variables; ephemeral ones again, the others as in the plan. */
  readonly variables: ReadonlyMap<string, Value>;
  readonly hold: StackLock;
  /** ULID of the run; that of an interrupted run continues it. */
  readonly run: string;
  readonly catalog: ProviderCatalog;
  /** Called when the plan is known to fit the state, before anything is done. */
  readonly onBegin?: () => Promise<void>;
  /** Learns the secrets of the run. @default none */
  readonly secrets?: Redactor;
  /** Finds other stacks. @default nothing of other stacks can be read */
  readonly stacks?: StackFinder;
  /** Finds stacks by the states that they have adopted. @default there are none */
  readonly findAdopter?: AdopterFinder;
  readonly clock: Clock;
  /** Random bytes for functions of the language, such as `uuid`. */
  readonly randomBytes: (size: number) => Uint8Array;
  /** ULIDs for operations. */
  readonly ulid: () => string;
  /** Steps that call a provider at the same time. @default 10 */
  readonly parallelism?: number;
  /**
   * Further limits of steps: by the source of a provider, by the text of the reference of a configuration, or by
   * `type:NAME` for a resource type.
   */
  readonly limits?: Readonly<Record<string, CallLimit>>;
  readonly callLimits?: Readonly<Record<string, ProviderCallLimits>>;
  readonly timeouts?: ApplyTimeouts;
  /** Executes the provisioners of the plan. @default a plan with provisioners is refused */
  readonly provisioners?: ProvisionerRunner;
  /** @default no call is repeated */
  readonly retry?: RetryPolicy;
  /** Interval between two progress events of a running step, in milliseconds. @default 10_000 */
  readonly progressMs?: number;
  /** First stage of cancelling: nothing new begins, providers are asked to end, what runs is waited for. */
  readonly signal?: AbortSignal;
  /** Second stage: nothing is waited for. What ran is resolved by the next run. */
  readonly forceSignal?: AbortSignal;
  readonly onEvent?: RunEventHandler;
  /**
   * Called once at the end, also after errors, with everything that expressions see, and with the secrets of the run.
   * @default nothing is done
   */
  readonly onEvaluated?: (world: EvaluationState, secrets: Redactor) => Promise<void>;
}

/** How the work on one object ended. */
export interface NodeResult {
  readonly address: string;
  readonly deposed: string;
  readonly step: "make" | "remove";
  readonly status: StepStatus;
  /** What a skipped one waited for. */
  readonly cause?: string;
}

export interface ApplyResult {
  readonly status: ApplyStatus;
  readonly nodes: readonly NodeResult[];
  readonly diagnostics: readonly Diagnostic[];
  readonly checks: readonly CheckResult[];
  readonly outputs: ReadonlyMap<string, StackOutput>;
  /** Outputs that are not to be shown unasked: sensitive ones, and those that repeat a secret of the run. */
  readonly secretOutputs: ReadonlySet<string>;
  /** Where the state stands. Open (with a run in it) after a forced end: the next run recovers. */
  readonly head: StackHead;
}

/**
 * Applies a plan: executes its changes in the order of their dependencies, and records every step before and after its
 * call. A failed step stops its dependents and no other step. Rejects where the state can no longer be written, above
 * all with `ENGINE_FENCE_LOST`, and with `ENGINE_PLAN_STALE` or `ENGINE_PROVIDER_CHANGED` before the first change.
 */
export async function executePlan(request: ExecutePlanRequest): Promise<ApplyResult> {
  const { plan, hold, run: id, clock } = request;
  const onEvent = request.onEvent ?? (() => undefined);
  requireProvisioners(request);
  const writer = await hold.begin({ run: id, base: plan.revision });
  const { inputs, present } = await inputsOf(request);
  await checkProviders(request);
  await request.onBegin?.();
  const force = AbortSignal.any([
    writer.signal,
    ...(request.forceSignal ? [request.forceSignal] : []),
  ]);
  onEvent({ type: "phase", phase: "apply" });
  await using providers = new ProviderInstances({
    catalog: request.catalog,
    sessionId: id,
    signal: force,
    ...(request.callLimits && { limits: request.callLimits }),
    retry: request.retry,
    secrets: request.secrets,
    identities: identitiesOf(plan),
    inputs,
    clock,
  });
  const { world, slots } = createApplyEvaluationState({
    ...request,
    functions: await providerFunctions(request.configuration, providers, versionsOf(plan)),
  });
  const stop = new AbortController();
  const run = new ApplyRun({
    plan,
    configuration: request.configuration,
    world,
    slots,
    writer,
    providers,
    clock,
    ulid: request.ulid,
    onEvent,
    stop: stop.signal,
    force,
    sessionId: id,
    timeouts: request.timeouts ?? {},
    progressMs: request.progressMs ?? 10_000,
    ...(request.provisioners && { provisioners: request.provisioners }),
  });
  await using ephemerals = run.ephemerals;
  if (hasEphemerals(request.configuration)) world.opener = ephemerals;
  await applyMoveRecords(writer, plan);
  // Operations that were in progress when the run was interrupted are recovered before any other step.
  if (writer.resumed) {
    const providerOf = async (object: StateObject) => run.provider(object);
    const recovered = await recoverPendingOperations(writer, providerOf, run.context);
    for (const { address, operation } of recovered) {
      if (operation === "delete") run.interruptedRemovals.add(address);
    }
  }
  const graph = orderSteps(
    plan.changes,
    new Map(writer.objects),
    plan.mode === "normal"
      ? { open: objectsWithOpenChecks(plan), dataOfChecks: dataOfChecks(plan, slots) }
      : undefined,
  );
  const runner = new StepRunner(run, graph);
  const onStop = (): void => {
    if (stop.signal.aborted) return;
    stop.abort();
    void providers.stop().catch(() => undefined);
  };
  for (const signal of [request.signal, force]) {
    if (signal?.aborted === true) onStop();
    signal?.addEventListener("abort", onStop, { once: true });
  }
  using limits = new LimiterSet(
    { "": { maxConcurrent: request.parallelism ?? 10 }, ...request.limits },
    clock,
  );
  try {
    await walkGraph(graph, {
      run: (vertex) => runner.run(vertex),
      limitsOf: (vertex) => limitNames(graph.steps[vertex]),
      limits,
      stop: stop.signal,
    });
  } finally {
    for (const signal of [request.signal, force]) signal?.removeEventListener("abort", onStop);
  }
  const { onEvaluated } = request;
  const stopped = stop.signal.aborted;
  return await finish(run, { runner, inputs, present, onEvaluated, stopped });
}

/** Addresses of what is read for checks. */
function dataOfChecks(
  { changes }: Plan,
  slots: ReadonlyMap<string, InstanceSlot>,
): ReadonlySet<string> {
  return new Set(
    changes.flatMap(({ action, address }) => {
      const slot = action === "read" ? slots.get(address) : undefined;
      return slot === undefined || checkOfData(slot) === undefined ? [] : [address];
    }),
  );
}

const INCOMPLETE: Diagnostic = {
  severity: "warning",
  code: "ENGINE_PARTIAL",
  summary: "Applied changes may be incomplete",
  detail:
    "The plan was about a part of the configuration only. Make a plan without targets and excludes to see what is left.",
};

/** `ENGINE_PROVISIONERS_REFUSED` for a plan with provisioners where these are not allowed. */
function requireProvisioners({ plan, provisioners }: ExecutePlanRequest): void {
  if (provisioners !== undefined) return;
  const addresses = plan.changes.flatMap(({ address, provisioners: steps = [] }) =>
    steps.length > 0 ? [address] : [],
  );
  if (addresses.length === 0) return;
  throw new EngineError(
    "ENGINE_PROVISIONERS_REFUSED",
    `the plan runs provisioners of ${addresses.join(", ")}, which are not allowed here`,
    { details: { addresses } },
  );
}

function versionsOf({ providers }: Plan): ReadonlyMap<string, string> {
  return new Map(providers.map(({ source, version }) => [source, version]));
}

function identitiesOf({ providers }: Plan): ReadonlyMap<string, string> {
  return new Map(
    providers.flatMap(({ identity, ...reference }) =>
      identity === undefined ? [] : [[versionText(reference), identity] as const],
    ),
  );
}

/** `ENGINE_PROVIDER_CHANGED` where a version is not what the plan was made with, before anything is done with it. */
async function checkProviders({ plan, catalog, hold }: ExecutePlanRequest): Promise<void> {
  for (const { identity, ...reference } of plan.providers) {
    if (identity === undefined) continue;
    const found = await catalog.identify(reference, { signal: hold.signal });
    if (found !== identity) throw providerChanged(reference);
  }
}

/** Conditions as they stand now: those that the apply decided, and those that the plan had decided before, as far as the run came to them. */
function allChecks(run: ApplyRun, runner: StepRunner): readonly CheckResult[] {
  const keyOf = ({ kind, address, index }: CheckResult): string => `${kind} ${index} ${address}`;
  const decided = new Map(run.checks.map((check) => [keyOf(check), check]));
  const unreached = new Set(
    unreachedChecks(run, runner).map(({ kind, address }) => `${kind} ${address}`),
  );
  const planned = run.given.plan.checks
    .filter((check) => !decided.has(keyOf(check)))
    .map((check): CheckResult => {
      const { kind, address, index } = check;
      return unreached.has(`${kind} ${address}`)
        ? { kind, address, index, status: "unknown" }
        : check;
    });
  return [...planned, ...decided.values()].toSorted((left, right) =>
    keyOf(left) < keyOf(right) ? -1 : 1,
  );
}

/** Outputs of other stacks, which have to be those that the plan was made with. */
async function inputsOf({
  plan,
  stacks,
  findAdopter,
  hold,
}: ExecutePlanRequest): Promise<Pick<Ending, "inputs" | "present">> {
  if (stacks === undefined) {
    if (plan.inputs.length === 0) return { inputs: undefined, present: [] };
    throw new EngineError(
      "ENGINE_INPUT_UNAVAILABLE",
      "the plan was made with outputs of other stacks, which cannot be read here",
    );
  }
  const present = await checkInputs(stacks, plan.inputs, { signal: hold.signal });
  const inputs = new StackInputs({
    find: stacks,
    ...(findAdopter && { findAdopter }),
    expected: plan.inputs,
  });
  return { inputs, present };
}

/** What the state is made with after this run: what was read for it, and what parts that it is not about had read. */
async function recordedInputs(
  { given: { plan, writer } }: ApplyRun,
  { inputs, present }: Pick<Ending, "inputs" | "present">,
): Promise<readonly StackInput[]> {
  const read = mergeInputs(present, (await inputs?.recorded()) ?? []);
  return plan.partial || plan.mode === "refresh-only" ? mergeInputs(writer.inputs, read) : read;
}

interface Ending {
  readonly runner: StepRunner;
  readonly inputs: StackInputs | undefined;
  /** What the plan took of other stacks, as it is now. */
  readonly present: readonly StackInput[];
  readonly onEvaluated: ExecutePlanRequest["onEvaluated"];
  readonly stopped: boolean;
}

async function finish(
  run: ApplyRun,
  { runner, inputs, present, onEvaluated, stopped }: Ending,
): Promise<ApplyResult> {
  const { writer } = run.given;

  run.given.onEvent({ type: "phase", phase: "finish" });
  const nodes = runner.results();
  await finalChecks(run, runner);
  const outputs = await finalOutputs(run, runner);
  run.report(run.given.world.diagnostics);
  const isDone = nodes.every(({ status }) => status === "done");
  const pending = [...writer.objects.values()].some(
    ({ phase, operation }) => phase !== "unresolved" && operation?.started === true,
  );
  await onEvaluated?.(run.given.world, run.given.providers.secrets);
  await run.ephemerals.closeAll();
  if (run.given.plan.partial && run.given.plan.deferred === undefined) run.report([INCOMPLETE]);
  const secret = secretOutputs(outputs, run.given.providers.secrets);
  const { secrets } = run.given.providers;
  const base = { nodes, checks: redactChecks(secrets, run.checks), outputs, secretOutputs: secret };
  if (pending || writer.signal.aborted) {
    const status: ApplyStatus = "canceled";
    return { ...base, status, diagnostics: run.diagnostics, head: writer.head };
  }
  for (const object of writer.objects.values()) {
    if (object.phase === "creating")
      await writer.write({ kind: "forget", key: object }).catch(() => undefined);
  }
  const failed = !isDone || hasErrors(run.diagnostics);
  const some = nodes.some(({ status }) => status === "done" || status === "tainted");
  let status: ApplyStatus = "applied";
  if (stopped && !isDone) status = "canceled";
  else if (failed) status = some ? "partially_applied" : "failed";
  const head = await writer.finish({
    outputs,
    checks: redactChecks(secrets, allChecks(run, runner)),
    inputs: await recordedInputs(run, { inputs, present }),
    status,
  });
  return { ...base, status, diagnostics: run.diagnostics, head };
}
