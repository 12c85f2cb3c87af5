import { randomBytes as systemRandomBytes } from "node:crypto";
import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Value } from "@stackwright/cty";
import type { Diagnostic } from "@stackwright/lang";
import { ProviderAddress } from "@stackwright/provider-source";
import { createUlidGenerator } from "@stackwright/storage";
import { type ApplyResult, type ExecutePlanRequest, executePlan } from "./apply/execute.ts";
import type { RecoveredOperation } from "./apply/recover.ts";
import type { RunEventHandler } from "./events.ts";
import type { Plan, PlanResult } from "./plan/plan.ts";
import { decodePlan, encodePlan, planDigest } from "./plan/plan-codec.ts";
import {
  type AboutPlan,
  ephemeralTexts,
  type PlanDocumentWriter,
} from "./plan/plan-document-writer.ts";
import { requireSameSources } from "./plan/require-same-sources.ts";
import { type CreatePlanRequest, createPlan } from "./planner/planner.ts";
import { createCatalog, type ProviderCatalog, type ProviderOrigin } from "./providers/catalog.ts";
import type { ProvisionerRunner } from "./provisioners/provisioner-runner.ts";
import { type RecoverRequest, type RecoverResult, recoverStack } from "./recover-stack.ts";
import { redactDiagnostics, redactError, redactEvents } from "./redact-run.ts";
import { planFacts, RunRecord } from "./run-record.ts";
import { createRedactor, type Redactor } from "./secrets/redactor.ts";
import type { PlanDocuments } from "./state/plan-documents.ts";
import { cleanUpRuns } from "./state/run-cleanup.ts";
import type { NewRun, Run, Runs } from "./state/runs.ts";
import {
  type AdopterFinder,
  type PlannedStackFinder,
  type StackFinder,
  StackInputs,
} from "./state/stack-inputs.ts";
import type { StackLock, StackReference, StackState, StoredPlan } from "./state/stack-state.ts";
import {
  type ValidateRequest,
  type ValidationResult,
  validateConfiguration,
} from "./validate/validate-configuration.ts";

export interface EngineOptions {
  /** Where providers come from; the first origin that handles a source is asked. */
  readonly origins: readonly ProviderOrigin[];
  /** Where the runs of a stack are written down. @default nowhere */
  readonly runs?: (stack: StackReference) => Runs;
  /** Finds stacks whose outputs templates read. @default there are none */
  readonly stacks?: StackFinder;
  /** Finds the stack that has adopted the state that a template reads. @default there is none */
  readonly findAdopter?: AdopterFinder;
  /** @default that of the process */
  readonly clock?: Clock;
  /** Random bytes for ULIDs and for functions of the language. @default those of the system */
  readonly randomBytes?: (size: number) => Uint8Array;
  /** Executes provisioners. @default they are refused */
  readonly provisioners?: ProvisionerRunner;
  /** Keeps the plans of runs, and those that are saved, without secrets. @default they are not kept */
  readonly writeDocuments?: PlanDocumentWriter | undefined;
}

type Shared =
  | "configuration"
  | "variables"
  | "options"
  | "workspace"
  | "parallelism"
  | "limits"
  | "retry"
  | "signal"
  | "onEvent"
  | "onEvaluated"
  | "collector"
  | "memory";

export interface EnginePlanRequest
  extends Pick<CreatePlanRequest, Shared | "givenEphemeral" | "onProviderSchema"> {
  readonly state: StackState;
  /** Stacks that are planned together with this one. @default there are none */
  readonly planned?: PlannedStackFinder;
  /** The run that the plan is created for, which is recorded. @default none: the plan is speculative */
  readonly run?: Pick<Run, "id" | "cause">;
}

export interface EnginePlanResult extends PlanResult {
  /** What became of the calls of a run that was interrupted, if there was one. */
  readonly recovered: readonly RecoveredOperation[];
}

export interface EngineApplyRequest
  extends Omit<
    ExecutePlanRequest,
    | "hold"
    | "run"
    | "catalog"
    | "stacks"
    | "findAdopter"
    | "clock"
    | "randomBytes"
    | "ulid"
    | "secrets"
    | "onBegin"
    | "provisioners"
  > {
  readonly state: StackState;
  /** ULID of the run; that of an interrupted run continues it. @default a new one */
  readonly run?: string;
  /** The cause of the run, where the run is not recorded yet. @default "" */
  readonly cause?: string;
  /** Where the plan is kept without secrets, where the run is not recorded yet. @default nowhere */
  readonly documents?: PlanDocuments | undefined;
  /** A hold that the caller has; otherwise the stack is taken for the time of the apply. */
  readonly hold?: StackLock;
}

interface EngineResolveRequest
  extends Pick<
    RecoverRequest,
    "configuration" | "variables" | "hold" | "workspace" | "signal" | "onEvent"
  > {
  readonly state: StackState;
  readonly resolve: NonNullable<RecoverRequest["resolve"]>;
}

export type EngineValidateRequest = Omit<ValidateRequest, "catalog" | "sessionId">;

/** Plans and applies configurations on stacks. Holds nothing between calls, so that one serves any number of stacks. */
export interface Engine {
  readonly catalog: ProviderCatalog;
  /**
   * Creates a plan. If a run was interrupted and the stack is not locked, the run is recovered first; planning writes
   * in no other case. See {@link createPlan}.
   */
  plan(request: EnginePlanRequest): Promise<EnginePlanResult>;
  /** Checks a configuration with the schemas of its providers alone. See {@link validateConfiguration}. */
  validate(request: EngineValidateRequest): Promise<ValidationResult>;
  /** Applies a plan, see {@link executePlan}. `ENGINE_CONFIG_CHANGED` if the configuration is another one. */
  apply(request: EngineApplyRequest): Promise<ApplyResult>;
  /**
   * Resolves objects of which it is not known what became of a call: by a read, by an identity, by an id that the caller knows, or as
   * absent. An interrupted run is ended first. Providers are called to read alone.
   */
  resolve(request: EngineResolveRequest): Promise<RecoverResult>;
  /** Stores a plan under its digest, which is what is approved. `variables`: those that it was made with. */
  savePlan(
    state: StackState,
    plan: Plan,
    variables?: EnginePlanRequest["variables"],
  ): Promise<StoredPlan>;
  /** A stored plan. Undefined where there is none; `ENGINE_PLAN_INVALID` where it is of an unknown format. */
  loadPlan(state: StackState, digest: string): Promise<Plan | undefined>;
}

export function createEngine({
  origins,
  stacks,
  findAdopter,
  runs,
  clock = systemClock,
  randomBytes = systemRandomBytes,
  provisioners,
  writeDocuments,
}: EngineOptions): Engine {
  const catalog = createCatalog(origins, (source) => ProviderAddress.parse(source));
  const ulid = createUlidGenerator({ wallMs: () => clock.wallMs(), randomBytes });

  /** Ends an interrupted run, unless the stack is locked: then the run is not interrupted. */
  async function recover(
    { state, configuration, variables, workspace, signal, onEvent }: EnginePlanRequest,
    secrets: Redactor,
  ): Promise<{
    readonly operations: readonly RecoveredOperation[];
    readonly diagnostics: readonly Diagnostic[];
  }> {
    const nothing = { operations: [], diagnostics: [] };
    if ((await state.head()).run === "") return nothing;
    const hold = await state.tryAcquire();
    if (hold === undefined) return nothing;
    try {
      const { run } = await state.head();
      if (run === "") return nothing;
      const result = await recoverStack({
        configuration,
        variables,
        hold,
        run,
        catalog,
        clock,
        secrets,
        ...(workspace !== undefined && { workspace }),
        ...(signal && { signal }),
        ...(onEvent && { onEvent }),
      });
      const record = runs && (await RunRecord.find(runs(state.reference), run));
      const unresolved = result.operations.filter(({ outcome }) => outcome === "unresolved");
      await record?.recovered(result.head, unresolved.length);
      await removeEndedRuns(state, hold.epoch);
      return result;
    } finally {
      await hold.release();
    }
  }

  /** The record of a run, as far as runs are written down. */
  async function recordOf({ reference }: StackState, run: NewRun): Promise<RunRecord | undefined> {
    return runs && RunRecord.open(runs(reference), run);
  }

  async function removeEndedRuns(state: StackState, epoch: bigint): Promise<void> {
    if (runs === undefined) return;
    const head = await state.head();
    await cleanUpRuns(runs(state.reference), { epoch, head, nowMs: clock.wallMs() });
  }

  /** Keeps a plan without secrets, where that is done. */
  async function keep(
    plan: Plan | undefined,
    { variables, ...about }: Omit<AboutPlan, "secrets"> & Pick<EnginePlanRequest, "variables">,
  ): Promise<PlanDocuments | undefined> {
    if (plan === undefined) return undefined;
    const secrets = ephemeralTexts(plan, variables);
    return writeDocuments?.(plan, { ...about, secrets });
  }

  /** Writes down how an apply ended. It has ended, whether that can be written or not: a later run tidies up. */
  async function recordEnd(
    record: RunRecord | undefined,
    result: ApplyResult,
    { state, epoch }: { readonly state: StackState; readonly epoch: bigint },
  ): Promise<void> {
    try {
      await record?.applied(result);
      await removeEndedRuns(state, epoch);
    } catch {
      // Left to the next run.
    }
  }

  /** Writes down that the engine gave up; what made it give up is more important than whether that can be written. */
  async function noteRejection(
    record: RunRecord | undefined,
    { state, signal }: Pick<EnginePlanRequest, "state" | "signal">,
    error: unknown,
  ): Promise<void> {
    if (record === undefined) return;
    try {
      const head = await state.head().catch(() => undefined);
      await record.rejected(error, { canceled: signal?.aborted === true, head });
    } catch {
      // The sweep of a later run ends it.
    }
  }

  return {
    catalog,
    validate: async (request) => validateConfiguration({ ...request, catalog, sessionId: ulid() }),
    async plan(given) {
      return guarded(given, async (request, secrets) => {
        const { state, run, planned, ...rest } = request;
        const { operations, diagnostics } = await recover(request, secrets);
        const record = run && (await recordOf(state, run));
        const rejected = async (error: unknown): Promise<never> => {
          await noteRejection(record, request, redactError(secrets, error));
          throw error;
        };
        await record?.planning();
        const result = await createPlan({
          ...rest,
          secrets,
          stack: state.reference.stack,
          snapshot: await state.read(),
          catalog,
          ...(stacks && {
            inputs: new StackInputs({
              find: stacks,
              planned,
              ...(findAdopter && { findAdopter }),
              reader: state.reference,
            }),
          }),
          provisioners: provisioners !== undefined,
          clock,
          sessionId: ulid(),
        }).catch(rejected);
        const found = redactDiagnostics(secrets, [...diagnostics, ...result.diagnostics]);
        const keepPlan = async (digest: string): Promise<PlanDocuments | undefined> => {
          const { variables, signal } = request;
          return keep(result.plan, { stack: state.reference, digest, variables, signal });
        };
        // Keeping a large plan takes a while, in which it may be canceled.
        await record?.planned(result.plan, found, keepPlan).catch(rejected);
        return { ...result, recovered: operations, diagnostics: found };
      });
    },
    async apply(request) {
      return guarded(
        request,
        async ({ state, hold: given, run = ulid(), cause = "", documents, ...rest }, secrets) => {
          const { plan } = rest;
          learnPlan(secrets, plan);
          const approved = {
            id: run,
            cause,
            phase: "approved",
            ...(runs && planFacts(plan)),
            ...(documents && { planDocuments: documents }),
          } as const;
          const record = await recordOf(state, approved);
          let hold = given;
          try {
            await requireSameSources(
              plan,
              rest.configuration,
              async () => (await state.head()).run === run,
            );
            hold ??= await state.acquire();
            const { epoch } = hold;
            const result = await executePlan({
              ...rest,
              secrets,
              hold,
              run,
              catalog,
              ...(stacks && { stacks }),
              ...(findAdopter && { findAdopter }),
              ...(record && { onBegin: async () => record.applying(epoch) }),
              clock,
              randomBytes,
              ulid,
              ...(provisioners && { provisioners }),
            });
            const diagnostics = redactDiagnostics(secrets, result.diagnostics);
            await recordEnd(record, { ...result, diagnostics }, { state, epoch });
            return { ...result, diagnostics };
          } catch (error) {
            await noteRejection(record, { state, ...rest }, redactError(secrets, error));
            throw error;
          } finally {
            if (given === undefined) await hold?.release();
          }
        },
      );
    },
    resolve: async (given) =>
      guarded(given, async ({ state, ...request }, secrets) => {
        const { run } = await state.head();
        const result = await recoverStack({
          ...request,
          run: run === "" ? ulid() : run,
          catalog,
          clock,
          secrets,
        });
        const record = runs && run !== "" && (await RunRecord.find(runs(state.reference), run));
        const open = result.operations.filter(({ outcome }) => outcome === "unresolved");
        if (record) await record.recovered(result.head, open.length);
        await removeEndedRuns(state, given.hold.epoch);
        return { ...result, diagnostics: redactDiagnostics(secrets, result.diagnostics) };
      }),
    async savePlan(state, plan, variables = plan.variables) {
      const bytes = encodePlan(plan);
      const digest = planDigest(plan);
      const documents = await keep(plan, { stack: state.reference, digest, variables });
      const { revision: baseRevision } = plan;
      return state.storePlan({ baseRevision, bytes, ...(documents && { documents }) });
    },
    async loadPlan(state, digest) {
      const stored = await state.plan(digest);
      return stored === undefined ? undefined : decodePlan(stored.bytes);
    },
  };
}

/** Does something with a redactor that knows the given values, and lets no secret out in events and errors. */
async function guarded<
  R extends { readonly variables: ReadonlyMap<string, Value>; readonly onEvent?: RunEventHandler },
  T,
>(request: R, run: (request: R, secrets: Redactor) => Promise<T>): Promise<T> {
  const secrets = createRedactor();
  for (const value of request.variables.values()) secrets.addValue(value);
  const { onEvent } = request;
  try {
    return await run(
      onEvent === undefined ? request : { ...request, onEvent: redactEvents(secrets, onEvent) },
      secrets,
    );
  } catch (error) {
    throw redactError(secrets, error);
  }
}

function learnPlan(secrets: Redactor, { changes, known, outputs }: Plan): void {
  for (const { before, after } of [...changes, ...outputs]) {
    if (before !== undefined) secrets.addValue(before);
    if (after !== undefined) secrets.addValue(after);
  }
  for (const value of known.values()) secrets.addValue(value);
}

/** Values of the root variables for applying a stored plan: those of the plan, and ephemeral ones given again. */
export function planVariables(
  { variables }: Plan,
  ephemeral: ReadonlyMap<string, Value>,
): ReadonlyMap<string, Value> {
  return new Map([...ephemeral, ...variables]);
}
