import type { Clock } from "@stackwright/base/clock";
import type { RetryPolicy } from "@stackwright/base/retry";
import { Mark, type Value } from "@stackwright/cty";
import { type Diagnostic, FileReads, hasErrors } from "@stackwright/lang";
import type { ProviderCallLimits, ProviderSchema } from "@stackwright/mux/router";
import { type Configuration, hasNoErrors } from "../configuration/configuration.ts";
import { EphemeralUsers, hasEphemerals } from "../ephemeral/ephemeral-users.ts";
import type { RunEventHandler } from "../events.ts";
import type { Plan, PlanOptions, PlanResult } from "../plan/plan.ts";
import type { ProviderCatalog } from "../providers/catalog.ts";
import { providerFunctions } from "../providers/provider-functions.ts";
import { ProviderInstances, versionText } from "../providers/provider-instances.ts";
import { selectVersions } from "../providers/select-versions.ts";
import { redactChecks } from "../redact-run.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { StackInputs } from "../state/stack-inputs.ts";
import type { StackSnapshot } from "../state/stack-state.ts";
import { EvaluationState } from "../walk/evaluation-state.ts";
import { walkGraph } from "../walk/ready-queue.ts";
import { blockedRemovals } from "./blocked-removals.ts";
import { checkInstances } from "./check-instances.ts";
import { createBeforeDestroyResources } from "./create-before-destroy.ts";
import { deferredParts, RoundEvents, type Waiting } from "./deferral.ts";
import { type ImportCollector, importsByNode } from "./imports.ts";
import { movesLeftOut, resolveMoves } from "./moves.ts";
import { withOpenPlaces } from "./open-places.ts";
import type { PlanMemory } from "./plan-memory.ts";
import { changesInOrder, checksInOrder, driftInOrder, expansionsInOrder } from "./plan-order.ts";
import { planOrphans } from "./plan-orphans.ts";
import { planOutputs } from "./plan-outputs.ts";
import { PlanReuse } from "./plan-reuse.ts";
import { PlanRun } from "./plan-run.ts";
import { planStateWalk } from "./plan-state-walk.ts";
import { closeEphemerals, visitNode } from "./plan-walk.ts";
import { checkProtected, configOf } from "./prevent-destroy.ts";
import { withReadsForChecks } from "./reads-for-checks.ts";
import { relevantDrift } from "./relevant-drift.ts";
import { readReplaceRequests, reportUnmatchedRequests } from "./replace-requests.ts";
import { replacedBelow } from "./replaced-below.ts";
import { selectPart } from "./selection.ts";
import { reportUnmatched } from "./unmatched-targets.ts";
import { unresolvedObjects } from "./unresolved-objects.ts";

/** Everything that a plan is made of. */
export interface CreatePlanRequest {
  readonly stack: string;
  readonly configuration: Configuration;
  /** Values of the root variables, complete and marked. */
  readonly variables: ReadonlyMap<string, Value>;
  /** Ephemeral ones among them that were given, in place of their default; recorded in the plan. @default not recorded */
  readonly givenEphemeral?: readonly string[];
  /** The idle state. */
  readonly snapshot: StackSnapshot;
  readonly catalog: ProviderCatalog;
  readonly options?: PlanOptions;
  /** @default "default" */
  readonly workspace?: string;
  /** Calls to providers at the same time. @default 10 */
  readonly parallelism?: number;
  /** Limits of calls to one provider, by source or by the text of its reference. */
  readonly limits?: Readonly<Record<string, ProviderCallLimits>>;
  /** @default no call is repeated */
  readonly retry?: RetryPolicy;
  /** Takes objects that have import blocks and no configuration yet. @default there are none */
  readonly collector?: ImportCollector;
  /** Learns the secrets of the run. @default none */
  readonly secrets?: Redactor;
  /** @default nothing of other stacks can be read */
  readonly inputs?: StackInputs;
  readonly clock: Clock;
  /** Remembers the last plan of the stack, so that this one costs what has changed. @default the plan is made in full */
  readonly memory?: PlanMemory | undefined;
  /** Whether a change may run provisioners. @default false: a plan that would run one is refused */
  readonly provisioners?: boolean;
  readonly sessionId: string;
  readonly signal?: AbortSignal;
  readonly onEvent?: RunEventHandler;
  /** Receives the schema of each provider that is started, with its source. @default drops them */
  readonly onProviderSchema?: (source: string, schema: ProviderSchema) => void;
  /**
   * Called once at the end, also after errors, with everything that expressions see, and with the secrets of the run.
   * @default nothing is done
   */
  readonly onEvaluated?: (world: EvaluationState, secrets: Redactor) => Promise<void>;
}

/**
 * Creates a plan: refreshes the objects, evaluates the configuration in one walk, and records for every object its
 * action and the reason. Writes nothing and changes nothing. Errors of the configuration are diagnostics; it rejects
 * where an answer is not available, such as when a provider exits, and with the reason of the signal.
 */
export async function createPlan(request: CreatePlanRequest): Promise<PlanResult> {
  if (request.options?.staged !== true) return (await planOnce(request, [])).result;
  const waiting = new Map<string, Waiting>();
  // What waits is left out, so that each round finds only what waits beside it: the configuration has an end.
  for (;;) {
    const events = new RoundEvents(request.onEvent);
    const { found, result } = await planOnce({ ...request, onEvent: events.take }, [
      ...waiting.values(),
    ]);
    const known = waiting.size;
    for (const one of found) waiting.set(one.address, one);
    if (waiting.size > known) continue;
    events.release();
    return result;
  }
}

/** A plan, and what was found to wait for a later stage; where that is something, the plan has to be made without it. */
interface PlanRound {
  readonly result: PlanResult;
  readonly found: readonly Waiting[];
}

/** Creates a plan without what is known to wait for a later stage. */
async function planOnce(
  request: CreatePlanRequest,
  waiting: readonly Waiting[],
): Promise<PlanRound> {
  const { configuration, signal } = request;
  const diagnostics: Diagnostic[] = [...configuration.diagnostics];
  const options = resolveOptions(request.options);
  const moves = resolveMoves(configuration, request.snapshot.objects, diagnostics);
  const unresolved = unresolvedObjects(moves, diagnostics);
  const selection = selectPart(
    configuration.graph,
    {
      targets: options.targets,
      excludes: [...options.excludes, ...unresolved, ...waiting.map(({ address }) => address)],
    },
    diagnostics,
  );
  const replace = readReplaceRequests(options.replace, diagnostics);
  if (!hasNoErrors(configuration) || hasErrors(diagnostics))
    return { result: { plan: undefined, diagnostics }, found: [] };
  const onEvent = request.onEvent ?? (() => undefined);
  onEvent({ type: "phase", phase: "plan" });
  const { catalog, sessionId, limits } = request;
  await using providers = new ProviderInstances({
    catalog,
    sessionId,
    ...(signal && { signal }),
    ...(limits && { limits }),
    retry: request.retry,
    secrets: request.secrets,
    inputs: request.inputs,
    clock: request.clock,
    onSchema: request.onProviderSchema,
  });
  const versions = await selectVersions(
    configuration.resolution,
    request.snapshot,
    catalog,
    diagnostics,
  );
  if (hasErrors(diagnostics)) return { result: { plan: undefined, diagnostics }, found: [] };
  const createdAtMs = request.clock.wallMs();
  const workspace = request.workspace ?? "default";
  const reads = new FileReads();
  const world = new EvaluationState({
    reads,
    root: configuration.root,
    variables: request.variables,
    workspace,
    host: { planTime: new Date(createdAtMs), maxStringLength: 32 * 1024 * 1024 },
    applying: false,
    providerFunctions: await providerFunctions(configuration, providers, versions),
    missing: selection.partial || options.mode !== "normal" ? "lenient" : "strict",
    expandsCalls: options.mode !== "normal",
    guards: () => options.mode === "normal",
  });
  const importBlocks = importsByNode(configuration.root);
  const createBeforeDestroy = createBeforeDestroyResources(configuration.graph);
  const frame = frameOf(request, { options, selection, versions, moves, importBlocks });
  const { memory } = request;
  memory?.feed(providers.secrets);
  const last = memory?.last;
  const reuse =
    memory === undefined || frame === undefined
      ? undefined
      : new PlanReuse({
          memory,
          last: last?.frame === frame && last.catalog === catalog ? last : undefined,
          policy: options.read,
          nowMs: createdAtMs,
          objects: moves.objects,
          createBeforeDestroy,
        });
  const run = new PlanRun({
    reuse,
    world,
    resolution: configuration.resolution,
    providers,
    versions,
    options,
    replace,
    parallelism: request.parallelism ?? 10,
    clock: request.clock,
    ...(signal && { signal }),
    onEvent,
    objects: moves.objects,
    previous: moves.previous,
    createBeforeDestroy,
    root: configuration.root,
    removed: configuration.refactoring.removed,
    provisioners: request.provisioners ?? false,
    staged: options.staged && options.mode === "normal",
    importBlocks,
    collector: request.collector,
    isIncluded: (address) => selection.includesAddress(address, true),
    // An object with a block is planned, if it is still an instance of it, and may drop its old dependencies.
    kept: blockedRemovals(
      moves.objects,
      selection,
      ({ address, deposed }) =>
        deposed !== "" || configOf(configuration.root, address) === undefined,
    ),
  });
  await using ephemerals = run.ephemerals;
  if (hasEphemerals(configuration)) world.opener = ephemerals;
  if (options.mode === "normal") {
    await walkConfiguration(run, configuration, selection);
    await planOrphans(run, configuration, selection);
    checkInstances(run, configuration, selection);
    reportUnmatchedRequests(run);
  } else await planStateWalk(run, configuration, selection);
  signal?.throwIfAborted();
  // Once all that waits itself is known.
  if (run.waiting.size === 0) {
    for (const one of replacedBelow(run, configuration.graph, waiting)) {
      run.waiting.set(one.address, one);
    }
  }
  if (run.waiting.size > 0) {
    await ephemerals.closeAll();
    return {
      result: { plan: undefined, diagnostics: run.diagnostics },
      found: [...run.waiting.values()],
    };
  }
  const reported = addressesOf(run);
  if (options.targets.length > 0 || options.excludes.length > 0) run.report([PARTIAL]);
  reportUnmatched(run, configuration.graph, options);
  reportForgotten(run);
  run.report(world.diagnostics);
  checkProtected(run, configuration.root);
  await request.onEvaluated?.(world, providers.secrets);
  await ephemerals.closeAll();
  const outputs = planOutputs(run, configuration, selection, request.snapshot.outputs);
  diagnostics.push(...run.diagnostics);
  if (hasErrors(diagnostics)) return { result: { plan: undefined, diagnostics }, found: [] };
  const emptyOutputs = emptyModuleOutputs(run, configuration, selection);
  const planned = changesInOrder(run, configuration);
  const leftMoves = movesLeftOut(moves, planned);
  const drift = relevantDrift(driftInOrder(run.drift, planned), {
    root: configuration.root,
    changes: run.changes,
    outputs,
  });
  const changes = withReadsForChecks(
    { mode: options.mode, changes: planned, outputs, drift, moves: leftMoves },
    run.bySlot,
  );
  const identities = new Map(providers.identities);
  for (const version of reuse?.usedProviders ?? []) {
    const identity = last?.identities.get(version);
    if (identity !== undefined && !identities.has(version)) identities.set(version, identity);
  }
  const plan = withOpenPlaces<Plan>(
    {
      stack: request.stack,
      revision: request.snapshot.head.revision,
      createdAtMs,
      mode: options.mode,
      partial: selection.partial,
      options: { targets: options.targets, excludes: options.excludes, replace: options.replace },
      configDigest: configuration.digest,
      files: reads.recorded(),
      workspace,
      variables: storedVariables(request.variables),
      ...(request.givenEphemeral && { givenEphemeral: request.givenEphemeral.toSorted() }),
      providers: [...versions].map(([source, version]) => {
        const identity = identities.get(versionText({ source, version }));
        return { source, version, alias: "", ...(identity !== undefined && { identity }) };
      }),
      expansions: expansionsInOrder(run, configuration),
      ...(emptyOutputs.length > 0 && { emptyOutputs }),
      ...(waiting.length > 0 && { deferred: deferredParts(configuration.graph, waiting) }),
      changes,
      ...(leftMoves.length > 0 && { moves: leftMoves }),
      known: run.known,
      outputs,
      drift,
      checks: redactChecks(providers.secrets, checksInOrder(run, configuration)),
      inputs: (await request.inputs?.recorded()) ?? [],
    },
    configuration.root,
  );
  if (memory !== undefined) {
    const hasInputs = plan.inputs.length > 0;
    memory.keep(
      reuse?.effort ?? { instances: changes.length, planned: changes.length },
      reported === undefined || frame === undefined
        ? undefined
        : reuse?.remember(
            { catalog, frame, identities, hasInputs },
            { drift: run.drift, reported },
          ),
      providers.secrets,
    );
  }
  return { result: { plan, diagnostics }, found: [] };
}

/**
 * What has to be as it was for any part of the last plan to be used again; undefined for plans of which nothing is used again, and
 * nothing remembered.
 */
function frameOf(
  { configuration, collector, stack, workspace, provisioners }: CreatePlanRequest,
  {
    options,
    selection,
    versions,
    moves,
    importBlocks,
  }: {
    readonly options: Required<PlanOptions>;
    readonly selection: ReturnType<typeof selectPart>;
    readonly versions: ReadonlyMap<string, string>;
    readonly moves: ReturnType<typeof resolveMoves>;
    readonly importBlocks: ReturnType<typeof importsByNode>;
  },
): string | undefined {
  const { refactoring, functionProviders } = configuration;
  const isWhole =
    options.mode === "normal" &&
    options.read.kind !== "older-than" &&
    // Also without targets and excludes: what depends on an unresolved object is left out, instances of a resource that has others too.
    !selection.partial &&
    options.replace.length === 0;
  const isPlain =
    collector === undefined &&
    importBlocks.size + moves.previous.size + functionProviders.size === 0 &&
    refactoring.moves.length + refactoring.removed.length === 0 &&
    !hasEphemerals(configuration);
  if (!isWhole || !isPlain) return undefined;
  return JSON.stringify([stack, workspace, provisioners, options.read, [...versions]]);
}

/** The instances that something was reported about; undefined where something was that is not about a planned instance. */
function addressesOf(run: PlanRun): ReadonlySet<string> | undefined {
  if (run.world.diagnostics.length > 0) return undefined;
  // What has conditions is evaluated for every plan.
  const checked = new Set(run.checks.map(({ address }) => address));
  const addresses = new Set<string>();
  for (const { address } of run.diagnostics) {
    if (address === undefined || !(run.changes.has(address) || checked.has(address))) {
      return undefined;
    }
    addresses.add(address);
  }
  return addresses;
}

/** Outputs of modules that are null, and those that are not selected. */
function emptyModuleOutputs(
  run: PlanRun,
  { graph }: Configuration,
  selection: ReturnType<typeof selectPart>,
): readonly string[] {
  const unselected = graph.order.flatMap((node) => {
    if (node.kind !== "output" || node.module.path.length === 0) return [];
    if (selection.includesNode(node)) return [];
    const { name } = node.output;
    return run.world.modules(node.module.path).map((one) => one.addressOf(`output.${name}`));
  });
  return [...run.emptyOutputs, ...unselected].toSorted((a, b) => (a < b ? -1 : 1));
}

function resolveOptions(options: PlanOptions = {}): Required<PlanOptions> {
  return {
    mode: options.mode ?? "normal",
    read: options.read ?? { kind: "always" },
    targets: options.targets ?? [],
    excludes: options.excludes ?? [],
    replace: options.replace ?? [],
    staged: options.staged ?? false,
    pureProviders: options.pureProviders ?? [],
  };
}

async function walkConfiguration(
  run: PlanRun,
  { graph }: Configuration,
  selection: ReturnType<typeof selectPart>,
): Promise<void> {
  const nodes = graph.order.filter((node) => selection.includesNode(node));
  const positions = new Map(nodes.map((node, at) => [node, at]));
  const next = nodes.map((node) =>
    [...node.dependents].flatMap((dependent) => positions.get(dependent) ?? []),
  );
  const users = new EphemeralUsers(nodes);
  await walkGraph(
    { size: nodes.length, next },
    {
      run: async (at) => {
        const node = nodes[at];
        if (node === undefined) return;
        await visitNode(run, node);
        for (const done of users.done(node)) await closeEphemerals(run, done);
      },
      ...(run.given.signal && { stop: run.given.signal }),
    },
  );
}

const PARTIAL: Diagnostic = {
  severity: "warning",
  code: "ENGINE_PARTIAL",
  summary: "Resource targeting is in effect",
  detail:
    "Targets or excludes are given, so that the plan is about a part of the configuration only. Make a plan without them afterwards.",
};

function reportForgotten(run: PlanRun): void {
  const forgotten = [...run.changes.values()].filter(({ action }) => action === "forget");
  if (forgotten.length === 0) return;
  const list = forgotten.map(({ address }) => `  - ${address}`).toSorted();
  run.report([
    {
      severity: "warning",
      code: "ENGINE_PLAN",
      summary: "Some objects will no longer be managed by Terraform",
      detail: `These objects are removed from the state without being destroyed. They continue to exist, but Stackwright no longer manages them:\n\n${list.join("\n")}`,
    },
  ]);
}

/** Ephemeral values are not kept; they are given again when the plan is applied. */
function storedVariables(variables: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> {
  return new Map([...variables].filter(([, value]) => !value.hasMark(Mark.ephemeral)));
}
