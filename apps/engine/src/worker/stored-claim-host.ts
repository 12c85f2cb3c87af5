import type { Logger } from "@stackwright/base/logger";
import {
  createStackStates,
  type NamedStack,
  type StackReference,
  type StoredKeys,
} from "@stackwright/core";
import { EngineError, isEngineError } from "@stackwright/core/errors";
import type { PolicyResult, Run } from "@stackwright/proto/stackwright";
import type { PublishedProviders } from "@stackwright/registry/terraform";
import { isStorageError, readStored } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { decodeRecord } from "../domain/record-kind.ts";
import {
  RUN_KIND,
  type RunReference,
  runPlace,
  STACK_HEAD_KIND,
  stackPlace,
} from "../domain/run-places.ts";
import { isServerError, ServerError } from "../domain/server-error.ts";
import { leftAllAsItWas } from "../executor/end-of-history.ts";
import type { ExecutionJob, ExecutionResult } from "../executor/execution-job.ts";
import type { ExecutionEnd, LossReason } from "../executor/executor.ts";
import type { IdentityIssuer } from "../identity/identity-issuer.ts";
import { advanceSetOf } from "../plan-set/advance-open-sets.ts";
import { judgePlan } from "../policy/judge-plan.ts";
import type { PolicyRunner } from "../policy/policy-runner.ts";
import { blockOf, policyEvents } from "../policy/policy-verdict.ts";
import { appendEvents } from "../queue/append-events.ts";
import { beginApply, endApply } from "../queue/apply-steps.ts";
import { type RunClaim, requireClaim } from "../queue/claim.ts";
import {
  beginPlanning,
  endWithoutPlan,
  type JudgedPolicies,
  recordPlan,
} from "../queue/plan-steps.ts";
import { releaseClaim } from "../queue/release.ts";
import { phaseOf } from "../queue/run-row.ts";
import type { ServedProjects } from "../queue/served-projects.ts";
import { endShadow, type ShadowedPlan } from "../queue/shadow-run.ts";
import { findStackTool } from "../queue/stack-tool.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";
import { recordRunState } from "../terraform-state/record-run-state.ts";
import type { FindStanding } from "../upstream/provider-standing.ts";
import { recordSchema } from "../upstream-schemas/record-schema.ts";
import type { ClaimHost } from "./claim-host.ts";
import { adoptionOf, claimJob } from "./claim-job.ts";
import type { LiveServers } from "./live-servers.ts";
import { readOtherStack } from "./read-other-stack.ts";
import { type ReadPlannedOutputs, readPlannedStack } from "./read-planned-stack.ts";
import { type FindProvider, readRegistry } from "./read-registry.ts";
import { recoveredResult } from "./recovered-result.ts";
import { requireRecord } from "./require-record.ts";
import { issueRunIdentity } from "./run-identity.ts";
import { readRunSecrets } from "./run-secrets.ts";

export interface StoredClaimParts extends TransactionParts {
  readonly keys: StoredKeys;
  readonly blobs: BlobStore;
  readonly logger: Logger;
  /** Projects whose runs may execute provisioners, as `ACCOUNT/PROJECT`. @default none */
  readonly provisionerProjects?: ReadonlySet<string>;
  /** Hosts that mean the registry of the account. @default none */
  readonly ownHosts?: () => readonly string[];
  /** Where else runs fetch modules from that are not of the configuration. @default nowhere */
  readonly modules?: () => NonNullable<ExecutionJob["modules"]>;
  /** Finds published providers for runs. @default there are none */
  readonly publishedProviders?: PublishedProviders | undefined;
  /** @default no version of a provider is known */
  readonly findStanding?: FindStanding | undefined;
  /** Finds private providers for runs. @default there are none */
  readonly findProvider?: FindProvider | undefined;
  /** Vouches for runs. @default runs get no tokens */
  readonly identity?: IdentityIssuer | undefined;
  /** Which servers live, for requests of remote workers. @default all that have a lease, as each request looks for itself */
  readonly servers?: LiveServers;
  /** When projects were given a step, for the fairness between them. @default each worker of this process looks for itself, and requests of remote ones know nothing */
  readonly served?: ServedProjects;
  /** Evaluates the policies that judge plans. */
  readonly policies: PolicyRunner;
  /** How plans are judged. @default by the sets of their account */
  readonly judgePlan?: typeof judgePlan;
  /** Is informed of what policies said about a plan. @default nothing is */
  readonly onJudged?: ((result: PolicyResult) => void) | undefined;
  /** How plans of stacks that are planned together are read. @default from their states */
  readonly readPlannedOutputs?: ReadPlannedOutputs;
  /** The stack by its ID. Undefined where its name was removed, or given to the stack of an adopted state. */
  readonly stackOf: (stack: StackReference) => Promise<NamedStack | undefined>;
}

/**
 * The host of a claim in the process that has the store.
 *
 * @param ending aborts when the worker ends in an orderly way: what it gives back from then on was not lost. @default never
 */
export function storedClaimHost(
  parts: StoredClaimParts,
  claim: RunClaim,
  ending?: AbortSignal,
): ClaimHost {
  return {
    job: async () => claimJob(parts, claim),
    beginPlanning: async () => beginPlanning(parts, claim),
    beginApply: async (epoch) => {
      await requireOpenStack(parts, claim);
      await beginApply(parts, claim, epoch);
    },
    readOtherStack: async (name) =>
      readOtherStack(parts, claim.reference.stack, name, {
        needsHistory: claim.step === "apply",
        ...(claim.step === "plan" && {
          planned: async (other) => readPlannedStack(parts, claim, other),
        }),
      }),
    identityTokens: async () =>
      parts.identity === undefined ? [] : issueRunIdentity(parts, claim, parts.identity),
    readRegistry: async (query) => readRegistry(parts, claim.reference.stack, query),
    recordState: async ({ serial, bytes, serialOffset, ...content }) => {
      await recordRunState(parts, claim, {
        ...content,
        serial: BigInt(serial),
        bytes: BigInt(bytes),
        serialOffset: BigInt(serialOffset),
      });
    },
    handInSchema: async (offered) => recordSchema(parts, claim, offered),
    append: async (events) =>
      transact(parts, async (tx) => {
        await requireClaim(tx, claim);
        await appendEvents(tx, claim.reference, events);
      }),
    end: async (end, late) => {
      await writeEnd(parts, claim, end, late, ending);
      await advanceSet(parts, claim);
    },
    giveUp: async (error) => giveUp(parts, claim, error, ending),
    isAway: (error) => isStorageError(error, "STORAGE_INCONSISTENT"),
  };
}

/**
 * Refuses to write a stack that was handed back after its job was made. The executor has the fence of the stack by now, without
 * which none is handed back; `beginApply` checks that it still has it.
 */
async function requireOpenStack(
  { stackOf }: Pick<StoredClaimParts, "stackOf">,
  { reference, step }: RunClaim,
): Promise<void> {
  // What an interrupted run left is resolved in any case.
  if (step !== "apply" || adoptionOf(await stackOf(reference.stack)) !== "ended") return;
  throw new EngineError(
    "ENGINE_STATE_NOT_ADOPTED",
    "the stack takes no more runs: its state was handed back, or another stack has its name",
  );
}

/** Whether a step may write the state: an apply does, and a plan only where an interrupted run has to be recovered. */
export async function accessOf(
  parts: TransactionParts,
  { step, reference }: Pick<RunClaim, "step" | "reference">,
): Promise<"plan" | "write"> {
  if (step !== "plan") return "write";
  const id = idOf(STACK_HEAD_KIND, stackPlace(reference.stack));
  const found = await readStored(parts.storage, "strong", id);
  return found !== undefined && decodeRecord(STACK_HEAD_KIND, found).run !== "" ? "write" : "plan";
}

async function writeEnd(
  parts: StoredClaimParts,
  claim: RunClaim,
  end: ExecutionEnd,
  late: string | undefined,
  ending: AbortSignal | undefined,
): Promise<void> {
  // A plan that was stopped because its worker ends is made by the next one; a release knows which were canceled.
  const isStoppedPlan =
    end.how === "result" && end.result.phase === "canceled" && claim.step === "plan";
  if (end.how === "result" && end.result.phase !== "interrupted" && !isStoppedPlan) {
    let { result } = end;
    if (result.phase === "canceled") {
      const run = await requireRecord(parts, RUN_KIND, runPlace(claim.reference));
      // A worker that ends, or lost its lease, stops its applies as well.
      if (late === undefined && run.cancel === undefined) {
        return endStoppedApply(parts, claim, result, run, ending);
      }
      result = await canceledResult(parts, claim, result, run);
    } else if (claim.step === "recover") {
      const run = await requireRecord(parts, RUN_KIND, runPlace(claim.reference));
      result = recoveredResult(result, run);
    }
    return writeResult(parts, claim, late === undefined ? result : lateResult(result, late));
  }
  const reason = late ?? lossOf(end);
  const reasonCode = finalCode(end, late, claim.step);
  if (reasonCode !== undefined) {
    return writeResult(parts, claim, { phase: "failed", reason, reasonCode });
  }
  const isBlocked = late === undefined && claim.step === "recover" && waits(end);
  if (isBlocked) parts.logger.warn({ run: claim.reference.run, reason }, "a recovery waits");
  else if (!isStoppedPlan) {
    parts.logger.warn({ run: claim.reference.run, reason }, "an executor was lost");
  }
  await release(parts, claim, reason, ending, isBlocked);
}

/**
 * Ends an apply that stopped though its run was not canceled: what has not begun is left to the next worker. One that began and wrote
 * no object has failed, and is not called partially applied.
 */
async function endStoppedApply(
  parts: StoredClaimParts,
  claim: RunClaim,
  result: Ended,
  run: Run,
  ending: AbortSignal | undefined,
): Promise<void> {
  const reason = "the worker of the run ended before the apply did";
  if (phaseOf(run) === "approved") return release(parts, claim, reason, ending);
  const revision = "revision" in result ? result.revision : undefined;
  const ended = { ...(revision !== undefined && { revision }), reasonCode: "worker_ended" };
  if (await isUntouched(parts, claim.reference, run, revision)) {
    await writeResult(parts, claim, {
      ...ended,
      phase: "failed",
      reason: "the worker of the run ended before the apply changed anything",
    });
    return;
  }
  await writeResult(parts, claim, { ...ended, phase: "partially_applied", reason });
}

/** How an apply ends that was stopped: one that wrote an object is applied in part, whatever applied it. */
async function canceledResult(
  parts: StoredClaimParts,
  { reference }: RunClaim,
  result: Ended,
  run: Run,
): Promise<Ended> {
  const revision = "revision" in result ? result.revision : undefined;
  const reason = run.cancel === undefined ? {} : { reason: `canceled by ${run.cancel.actor}` };
  const canceled = { ...result, ...reason };
  // A tool says so itself, and nothing was written before the apply began.
  if (run.tool !== "" || revision === undefined || phaseOf(run) !== "applying") return canceled;
  if (await isUntouched(parts, reference, run, revision)) return canceled;
  return { phase: "partially_applied", revision, ...reason };
}

/** Whether an apply of the engine that has ended at a revision wrote no object, as far as that can be read here. */
async function isUntouched(
  { storage, blobs, keys }: StoredClaimParts,
  { stack, run: id }: RunReference,
  { tool, baseRevision }: Run,
  revision: string | undefined,
): Promise<boolean> {
  if (tool !== "" || revision === undefined) return false;
  if (BigInt(revision) === baseRevision) return true;
  const states = createStackStates({ storage, blobs, ciphers: keys, owner: "ending" });
  // Without the key of the stack it is not known.
  const [last] = await states
    .stack(stack)
    .history({ limit: 1 })
    .catch(() => []);
  return last?.run === id && leftAllAsItWas(last);
}

/** Whether an execution ended because of something that users end. */
function waits(end: ExecutionEnd): boolean {
  return end.how === "result" && end.result.phase === "interrupted" && end.result.blocked === true;
}

function lossOf(end: ExecutionEnd): string {
  switch (end.how) {
    case "result":
      return end.result.phase === "interrupted" ? end.result.reason : end.result.phase;
    case "exit":
      return `the executor ended with code ${end.code}`;
    case "signal":
      return `the executor was ended by ${end.signal}`;
    case "lost":
      return end.detail === undefined ? LOSSES[end.reason] : `${LOSSES[end.reason]}: ${end.detail}`;
    default:
      return end satisfies never;
  }
}

const LOSSES: Readonly<Record<LossReason, string>> = {
  start_deadline: "the executor missed its start deadline",
  memory: "the processes of the executor had more memory than a step may have",
  processor: "the processes of the executor used more processor time than a step may use",
  too_large: "the variables of the stack are too large for an executor; make them smaller",
  refused: "the cluster does not execute the step",
  removed: "the executor was ended by something else than its worker",
};

/** The code of a loss that another attempt would only repeat. An apply that began is recovered in any case. */
function finalCode(
  end: ExecutionEnd,
  late: string | undefined,
  step: RunClaim["step"],
): string | undefined {
  if (end.how === "lost" && step !== "recover") {
    if (end.reason === "too_large") return "too_large";
    // Nothing of the step has begun.
    if (end.reason === "refused") return "executor_refused";
  }
  if (step !== "plan") return undefined;
  if (end.how === "lost" && end.reason === "memory") return "out_of_memory";
  if (end.how === "lost" && end.reason === "processor") return "out_of_processor_time";
  return late === undefined ? undefined : "deadline";
}

/** A result that is not what was asked for, because the execution was stopped by its deadline. */
function lateResult(result: Ended, reason: string): Ended {
  if (result.phase !== "canceled" && result.phase !== "partially_applied") return result;
  return { ...result, reason: result.reason ?? reason, reasonCode: "deadline" };
}

type Ended = Exclude<ExecutionResult, { phase: "interrupted" }>;

/** Lets the other runs of the set of a run go on. Its end is written by now: where this fails, the sweep does it. */
async function advanceSet(parts: StoredClaimParts, { reference }: RunClaim): Promise<void> {
  try {
    await advanceSetOf(parts, reference);
  } catch (error) {
    parts.logger.warn({ run: reference.run, err: error }, "a plan set is advanced later");
  }
}

async function writeResult(parts: StoredClaimParts, claim: RunClaim, result: Ended): Promise<void> {
  if (await endsShadow(parts, claim, result)) return;
  if (result.phase === "compared") {
    throw new ServerError("illegal_transition", "the run compares no plans");
  }
  if (result.phase === "planned") {
    const {
      planDigest: digest,
      baseRevision,
      summary,
      documentSha256,
      viewSha256,
      jsonSha256 = "",
      renderedSha256 = "",
      moduleLock = "",
      drift,
      left,
    } = result;
    return recordPlan(parts, claim, {
      digest,
      baseRevision: BigInt(baseRevision),
      summary: {
        ...summary,
        documentSha256,
        viewSha256,
        jsonSha256,
        renderedSha256,
        moduleLock,
      },
      policies: await judge(parts, claim, digest),
      shadowed: await shadowedPlan(parts, claim, digest, BigInt(baseRevision)),
      drift,
      left,
    });
  }
  if (result.phase === "no_changes") {
    const { phase, planDigest, providerConstraints } = result;
    const revision = BigInt(result.revision);
    const shadowed =
      planDigest === undefined ? undefined : await shadowedPlan(parts, claim, planDigest, revision);
    return endWithoutPlan(parts, claim, { phase, revision, shadowed, providerConstraints });
  }
  const { phase, reason = "", reasonCode = "", revision, providerConstraints } = result;
  if (claim.step !== "plan") {
    const at = revision === undefined ? {} : { revision: BigInt(revision) };
    const stackName = (await parts.stackOf(claim.reference.stack))?.name;
    const known = { stackName, providerConstraints };
    return endApply(parts, claim, { phase, reason, reasonCode, ...known, ...at });
  }
  return endWithoutPlan(parts, claim, { phase: "failed", reason, reasonCode });
}

/** Judges the plan of a run by the policies that are for its stack. */
async function judge(
  parts: StoredClaimParts,
  { reference }: RunClaim,
  planDigest: string,
): Promise<JudgedPolicies | undefined> {
  const { stack } = reference;
  const named = await parts.stackOf(stack);
  // Without a name the stack takes no runs, so that its plan is not applied.
  if (named === undefined) return undefined;
  const run = await requireRecord(parts, RUN_KIND, runPlace(reference));
  const secrets = async () => readRunSecrets(parts, stack, named.name);
  const judging = parts.judgePlan ?? judgePlan;
  const result = await judging(parts, { stack, stackName: named.name, run, planDigest, secrets });
  if (result !== undefined) parts.onJudged?.(result);
  return result && { result, block: blockOf(result), events: policyEvents(result) };
}

/** Ends the run of a shadow by what it found; false for another run. */
async function endsShadow(
  parts: StoredClaimParts,
  claim: RunClaim,
  result: Ended,
): Promise<boolean> {
  const run = await requireRecord(parts, RUN_KIND, runPlace(claim.reference));
  if (run.shadowOf === "") return false;
  if (result.phase === "compared") await endShadow(parts, claim, result);
  else {
    const reason = ("reason" in result && result.reason) || "the engine made no plan";
    const reasonCode = ("reasonCode" in result && result.reasonCode) || "plan";
    await endShadow(parts, claim, { reason, reasonCode });
  }
  return true;
}

/** What the engine compares with its own plan; undefined where no tool made the plan, or nothing is compared. */
async function shadowedPlan(
  { storage, stackOf, token }: StoredClaimParts,
  { reference: { stack } }: RunClaim,
  planDigest: string,
  stateNumber: bigint,
): Promise<ShadowedPlan | undefined> {
  const { shadow } = await findStackTool(storage, stack);
  if (!shadow) return undefined;
  const named = await stackOf(stack);
  return named && { shadowRun: token(), stackName: named.name, planDigest, stateNumber };
}

/** Ends a run that no worker could execute, or gives its ticket back. */
async function giveUp(
  parts: StoredClaimParts,
  claim: RunClaim,
  error: unknown,
  ending: AbortSignal | undefined,
): Promise<void> {
  if (isServerError(error, "claim_lost")) return;
  const reason = error instanceof Error ? error.message : String(error);
  try {
    if (isEngineError(error, "ENGINE_KEY_UNAVAILABLE") && claim.step !== "recover") {
      const advised = `${reason}. ${await keyAdvice(parts, claim)}`;
      const failed = { phase: "failed", reason: advised, reasonCode: "key_unavailable" } as const;
      await writeResult(parts, claim, failed);
    } else if (isServerError(error, "client_keys")) {
      await writeResult(parts, claim, { phase: "failed", reason, reasonCode: "client_keys" });
    } else await release(parts, claim, reason, ending);
  } catch (thrown) {
    // The lease of the worker ends with it; a sweep releases the claim then.
    parts.logger.error({ run: claim.reference.run, err: thrown }, "a claim was not released");
  }
}

/** How a stack whose keys are those of commands gets runs of the server. */
async function keyAdvice(
  { stackOf }: StoredClaimParts,
  { reference: { stack } }: RunClaim,
): Promise<string> {
  const name = (await stackOf(stack).catch(() => undefined))?.name ?? "NAME";
  return `Encrypt its data keys with the key of the server, where both keys are: stackwright keys rewrap --project ${stack.project} --stack ${name} --from-key-file YOUR-KEY; or run it by commands alone: stackwright projects set ${stack.project} --keys client`;
}

async function release(
  parts: TransactionParts,
  claim: RunClaim,
  reason: string,
  ending: AbortSignal | undefined,
  isBlocked = false,
): Promise<void> {
  const { ticket, worker, tokenDigest } = claim;
  await releaseClaim(parts, {
    ticket,
    worker: worker.id,
    tokenDigest,
    guard: worker.guard,
    actor: worker.id,
    reason,
    isReturned: ending?.aborted === true,
    isBlocked,
  });
}
