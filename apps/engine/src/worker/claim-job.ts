import type { NamedStack, StackReference } from "@stackwright/core";
import { type Run, Run_Mode, Run_Phase } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { modeNameOf } from "../domain/run-modes.ts";
import { memberPlace, RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { ExecutionJob, JobTool } from "../executor/execution-job.ts";
import type { RunClaim } from "../queue/claim.ts";
import { isDriftCheck } from "../queue/drift-record.ts";
import { findStackTool } from "../queue/stack-tool.ts";
import { idOf } from "../queue/transaction.ts";
import { placeOfRun, traceParentOf } from "../span/trace-context.ts";
import { findCurrentVersion, findStateVersion } from "../terraform-state/state-versions.ts";
import type { ClaimJob } from "./claim-host.ts";
import { deployedValues } from "./deployed-values.ts";
import { requireKeysOfServer } from "./kept-keys.ts";
import { executionName } from "./orphan-sweep.ts";
import { requireRecord } from "./require-record.ts";
import { readRunHooks } from "./run-hooks.ts";
import { openRunValues } from "./run-values.ts";
import { readRunVariables, withoutEnforced } from "./run-variables.ts";
import type { StoredClaimParts } from "./stored-claim-host.ts";

/** How the plan of each kind of run is made. A run of another one is of a newer release. */
const MODES = new Map<Run_Mode, ExecutionJob["mode"]>([
  [Run_Mode.MODE_APPLY, "normal"],
  [Run_Mode.MODE_PLAN_ONLY, "normal"],
  [Run_Mode.MODE_IMPORT, "normal"],
  [Run_Mode.MODE_DESTROY, "destroy"],
  [Run_Mode.MODE_REFRESH_ONLY, "refresh-only"],
]);

/** What an executor gets to execute the step of a claim. `unprocessable` for a run of a kind that this release does not know. */
export async function claimJob(
  parts: StoredClaimParts,
  { reference, step, attempts, traceParent }: RunClaim,
): Promise<ClaimJob> {
  const { keys } = parts;
  const { stack } = reference;
  const run = await requireRecord(parts, RUN_KIND, runPlace(reference));
  const version = await requireRecord(
    parts,
    SERVER_KINDS.configuration,
    memberPlace(stack, run.configuration),
  );
  const named = await parts.stackOf(stack);
  const runMode = modeNameOf(run.mode);
  // The project may have changed since the run was requested.
  if (step !== "recover") await requireKeysOfServer(parts.storage, stack);
  if (step !== "recover") await keys.ensure(stack);
  const delegated = await keys.dataKeys(stack);
  const { enforced, contested, ...variables } = await readRunVariables(parts, stack, named?.name);
  const compared = run.shadowOf === "" ? undefined : await shadowOf(parts, reference, run);
  const requested = compared?.requested ?? { reference, run };
  const given =
    requested.run.variables.byteLength > 0
      ? await openRunValues(keys, requested.reference, requested.run)
      : await deployedValues(parts, stack);
  return {
    name: executionName(reference.run, attempts),
    stack,
    run: reference.run,
    step,
    ...waitOf(step, run),
    ...(traceParent !== "" && { trace: traceOf(traceParent, run) }),
    mode: modeOf(run.mode),
    ...(runMode !== undefined && { runMode }),
    workspace: named?.name ?? "default",
    adoption: adoptionOf(named),
    configuration: {
      digest: version.digest,
      archiveSha256: version.archiveSha256,
      ...(version.root !== "" && { root: version.root }),
    },
    ...(run.tool !== "" && { tool: await toolOf(parts, stack, run) }),
    ...(compared && { shadow: compared.shadow }),
    provisioners: parts.provisionerProjects?.has(`${stack.account}/${stack.project}`) === true,
    ...(parts.ownHosts !== undefined && { ownHosts: parts.ownHosts() }),
    ...(parts.modules !== undefined && {
      modules: { ...parts.modules(), ...(await moduleLockOf(parts, reference, run)) },
    }),
    targets: run.targets,
    replace: run.replace,
    ...(run.imports.length > 0 && {
      imports: run.imports.map(({ address, id }) => ({ address, id })),
    }),
    ...(run.planDigest !== "" && { planDigest: run.planDigest }),
    ...variables,
    ...withoutEnforced(given, enforced),
    ...(contested.length > 0 && { contestedVariables: contested }),
    ...(run.skipRefresh && { skipRefresh: true }),
    ...(step === "plan" && (await pureProvidersOf(parts, stack, run))),
    ...(run.stage !== undefined && {
      stage: { number: run.stage.number, before: run.stage.before },
    }),
    ...(isDriftCheck(run) && { findsDrift: true }),
    ...(run.planSet !== "" && { ofSet: true }),
    ...(run.shadowOf === "" && { hooks: await readRunHooks(parts, stack) }),
    keys: delegated.map(({ number, bytes }) => ({
      number,
      bytes: Buffer.from(bytes).toString("base64"),
    })),
  };
}

/** Since when a run has waited for the worker of its step. A recovery waits for the death of another one. */
function waitOf(
  step: RunClaim["step"],
  { history }: Pick<Run, "history">,
): Pick<ExecutionJob, "waitingSinceMs"> {
  if (step === "recover") return {};
  const { PHASE_QUEUED, PHASE_APPROVED } = Run_Phase;
  const begun = history.findLast(
    ({ to }) => to === (step === "plan" ? PHASE_QUEUED : PHASE_APPROVED),
  );
  return begun === undefined ? {} : { waitingSinceMs: Number(begun.atMs) };
}

/** What a step continues, and where its run was requested: an approval begins another trace. */
function traceOf(parent: string, run: Run): NonNullable<ExecutionJob["trace"]> {
  const link = traceParentOf(placeOfRun(run));
  return { parent, ...(link !== parent && { link }) };
}

/** The providers that the project says are pure. What is compared with the plan of a tool is planned in full, as the tool does. */
async function pureProvidersOf(
  { storage }: StoredClaimParts,
  stack: StackReference,
  { tool, shadowOf: compared }: Pick<Run, "tool" | "shadowOf">,
): Promise<Pick<ExecutionJob, "pureProviders">> {
  if (tool !== "" || compared !== "") return {};
  const found = await readStored(
    storage,
    "strong",
    idOf(SERVER_KINDS.project, projectPlace(stack)),
  );
  if (found === undefined) return {};
  const { pureProviders } = decodeRecord(SERVER_KINDS.project, found);
  return pureProviders.length === 0 ? {} : { pureProviders };
}

/** The modules that the plan of a run was made with, for the step that applies it. */
async function moduleLockOf(
  { storage }: StoredClaimParts,
  reference: RunReference,
  { planDigest }: Pick<Run, "planDigest">,
): Promise<{ readonly lock?: string }> {
  if (planDigest === "") return {};
  const found = await readStored(
    storage,
    "strong",
    idOf(SERVER_KINDS.summary, runPlace(reference)),
  );
  const summary = found && decodeRecord(SERVER_KINDS.summary, found);
  if (summary?.planDigest !== planDigest || summary.moduleLock === "") return {};
  return { lock: summary.moduleLock };
}

/** The tool of a run, with the present state of its stack. */
async function toolOf(
  { storage }: StoredClaimParts,
  stack: StackReference,
  { tool: name, toolVersion: version }: Pick<Run, "tool" | "toolVersion">,
): Promise<JobTool> {
  const [state, { shadow }] = await Promise.all([
    findCurrentVersion(storage, stack),
    findStackTool(storage, stack),
  ]);
  return {
    name,
    version,
    ...(shadow && { keepsPlan: true }),
    ...(state !== undefined && {
      state: { number: state.number.toString(), contentSha256: state.contentSha256 },
    }),
  };
}

function modeOf(mode: Run_Mode): ExecutionJob["mode"] {
  const known = MODES.get(mode);
  if (known !== undefined) return known;
  // To plan it as another kind would do something else than was asked.
  throw new ServerError("unprocessable", "the run was requested at a server of a newer release");
}

/** What is known of where the state of a stack came from. */
export function adoptionOf(stack: NamedStack | undefined): ExecutionJob["adoption"] {
  if (stack === undefined) return "ended";
  const { adoption: origin } = stack;
  if (origin === undefined) return "none";
  return origin.kind === "state" && origin.handedBack ? "ended" : "recorded";
}

/** The plan that a run is compared with, and the state that it was made from. */
async function shadowOf(
  parts: StoredClaimParts,
  { stack }: RunReference,
  run: Run,
): Promise<
  Required<Pick<ExecutionJob, "shadow">> & {
    /** The run that it is compared with, whose values it has. */
    readonly requested: { readonly reference: RunReference; readonly run: Run };
  }
> {
  const original = { stack, run: run.shadowOf };
  const compared = await requireRecord(parts, SERVER_KINDS.comparison, runPlace(original));
  const { planDigest, stateNumber } = compared;
  const state =
    stateNumber === 0n ? undefined : await findStateVersion(parts.storage, stack, stateNumber);
  if (stateNumber !== 0n && state === undefined) {
    throw new ServerError("not_found", `the state version ${stateNumber} was removed`);
  }
  return {
    requested: {
      reference: original,
      run: await requireRecord(parts, RUN_KIND, runPlace(original)),
    },
    shadow: {
      planDigest,
      ...(state !== undefined && {
        state: { number: state.number.toString(), contentSha256: state.contentSha256 },
      }),
    },
  };
}
