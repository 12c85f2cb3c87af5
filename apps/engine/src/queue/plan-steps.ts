import {
  type PlanSummary,
  type PolicyResult,
  type Project,
  Project_AutoApply,
  type ProviderConstraint,
  type Run,
  RunTicket_Step,
} from "@stackwright/proto/stackwright";
import { approvalRuleOf } from "../domain/approval-time.ts";
import { type FoundDrift, NO_DRIFT } from "../domain/found-drift.ts";
import { projectPlace, requiresApproval } from "../domain/project-settings.ts";
import type { RunLogEvent } from "../domain/run-log-event.ts";
import { memberPlace, type RunReference, runPlace, STACK_PLAN_KIND } from "../domain/run-places.ts";
import type { LeftToStage } from "../domain/run-stages.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { appendEvents } from "./append-events.ts";
import { type RunClaim, requireClaim } from "./claim.ts";
import { isDriftCheck, recordDrift, recordFailedCheck } from "./drift-record.ts";
import { requestRollback } from "./request-rollback.ts";
import { isSpeculative, move, readRun, requireAt } from "./run-row.ts";
import { awaitedPlan, forgetAwaitedPlan } from "./set-member.ts";
import { requestShadow, type ShadowedPlan } from "./shadow-run.ts";
import { leaveQueue, recordConfiguration } from "./stack-queue.ts";
import { unclearApply } from "./stack-tool.ts";
import { type Transaction, type TransactionParts, transact } from "./transaction.ts";

/** What workers of an earlier release do not store. */
type OptionalMember = "moduleLock" | "jsonSha256" | "renderedSha256";

/** The plan that an executor made and stored. */
interface MadePlan {
  readonly digest: string;
  readonly baseRevision: bigint;
  readonly summary: Omit<PlanSummary, "planDigest" | OptionalMember> &
    Partial<Pick<PlanSummary, OptionalMember>>;
  /** Where a tool made the plan, what the engine compares with its own. @default nothing */
  readonly shadowed?: ShadowedPlan | undefined;
  /** How policies judged it; undefined where none is for the stack. */
  readonly policies?: JudgedPolicies | undefined;
  /** What the plan of a check found. @default nothing */
  readonly drift?: FoundDrift | undefined;
  /** What it leaves to a later stage. @default nothing */
  readonly left?: LeftToStage | undefined;
}

/** What policies said about a plan, and what that means for its run. */
export interface JudgedPolicies {
  readonly result: PolicyResult;
  readonly block: "none" | "overridable" | "forbidden";
  /** What the run's log says. */
  readonly events: readonly RunLogEvent[];
}

/** `preparing` to `planning`: the executor answers. */
export async function beginPlanning(parts: TransactionParts, claim: RunClaim): Promise<void> {
  await transact(parts, async (tx) => {
    await requireClaim(tx, claim);
    const run = requireAt(await readRun(tx, claim.reference), "preparing");
    await forgetAwaitedPlan(tx, claim.reference, run.row.message);
    await move(tx, run, "planning", claim.worker.id);
  });
}

/**
 * Records the plan of a run with what policies say about it. A run that only plans ends, as does one whose plan may not pass; one that
 * somebody may let pass waits for that; one that is applied without approval keeps its ticket, for the next step; any other waits for its
 * approvals without one.
 */
export async function recordPlan(
  parts: TransactionParts,
  claim: RunClaim,
  { digest, baseRevision, summary, policies, shadowed, drift, left }: MadePlan,
): Promise<void> {
  const { reference, worker } = claim;
  await transact(parts, async (tx) => {
    const ticket = await requireClaim(tx, claim);
    const run = requireAt(await readRun(tx, reference), "planning");
    const plan = await tx.find(STACK_PLAN_KIND, memberPlace(reference.stack, digest));
    if (plan === undefined) {
      throw new ServerError("conflict", `the plan ${digest} is not stored`);
    }
    tx.guardRow(plan);
    const made = {
      moduleLock: "",
      jsonSha256: "",
      renderedSha256: "",
      ...summary,
      planDigest: digest,
    };
    tx.update(await tx.findOrNew(SERVER_KINDS.summary, runPlace(reference), () => made), made);
    // The rule of the moment in which there is something to approve.
    const project = await tx.find(SERVER_KINDS.project, projectPlace(reference.stack));
    if (project !== undefined) tx.guardRow(project);
    else tx.guardAbsent(SERVER_KINDS.project, projectPlace(reference.stack));
    const { message } = run.row;
    const unclear = message.tool === "" ? "" : await unclearApply(tx, reference.stack);
    const wouldApply = isAutoApplied(message, project?.message);
    const autoApply = unclear === "" && wouldApply;
    if (unclear !== "" && wouldApply) await sayWhyItWaits(tx, reference, unclear);
    const planned = await move(tx, run, "planned", worker.id, {
      planDigest: digest,
      baseRevision,
      approvals: [],
      autoApply,
      requiredApprovals: Math.max(1, project?.message.requiredApprovals ?? 1),
      excludeAuthor: project?.message.excludeAuthor ?? false,
      approvers: project?.message.approvers ?? [],
      ...approvalRuleOf(project?.message, message, tx.nowMs),
      ...(message.stage !== undefined && {
        stage: {
          ...message.stage,
          left: [...(left?.parts ?? [])],
          replace: [...(left?.replace ?? [])],
        },
      }),
    });
    await recordPolicies(tx, reference, policies);
    const { cancel } = run.row.message;
    if (shadowed !== undefined) await requestShadow(tx, reference, run.row.message, shadowed);
    if (isDriftCheck(run.row.message)) {
      await recordDrift(tx, reference, run.row.message, { found: drift, revision: baseRevision });
    }
    if (isSpeculative(run.row.message)) {
      await move(tx, planned, "plan_finished", worker.id);
      tx.remove(ticket);
      await leaveQueue(tx, reference);
    } else if (cancel !== undefined) {
      // The executor did not hear of it in time.
      await move(tx, planned, "canceled", worker.id, { reason: `canceled by ${cancel.actor}` });
      tx.remove(ticket);
      await leaveQueue(tx, reference);
    } else if (policies !== undefined && policies.block !== "none") {
      const failed = await move(tx, planned, "policy_failed", worker.id, {
        reason: "policies forbid the plan",
        reasonCode: "policy_failed",
      });
      tx.remove(ticket);
      if (policies.block === "forbidden") {
        await move(tx, failed, "discarded", worker.id);
        await leaveQueue(tx, reference);
      }
    } else if (autoApply) {
      await move(tx, planned, "approved", worker.id);
      tx.update(ticket, {
        step: RunTicket_Step.STEP_APPLY,
        // Plans of schedules wait for all others; their applies, and what recovers these, do not.
        background: false,
        claim: undefined,
        attempts: 0,
        freeSinceMs: BigInt(tx.nowMs),
        stuckNotedAtMs: 0n,
      });
    } else {
      await move(tx, planned, "awaiting_approval", worker.id);
      tx.remove(ticket);
    }
  });
}

async function sayWhyItWaits(
  tx: Transaction,
  reference: RunReference,
  unclear: string,
): Promise<void> {
  const text = `The plan waits for an approval, although it would be applied without one: the outcome of the apply of the run ${unclear} is not known. Compare the plan with the real objects.`;
  const event = { type: "log", source: "stackwright", level: "warn", text };
  await appendEvents(tx, reference, [{ at: tx.nowMs, event }]);
}

/** Stores what policies said about the plan of a run, in place of what they said about a former one. */
async function recordPolicies(
  tx: Transaction,
  reference: RunReference,
  policies: JudgedPolicies | undefined,
): Promise<void> {
  const place = runPlace(reference);
  if (policies === undefined) {
    const former = await tx.find(SERVER_KINDS.policyResult, place);
    if (former !== undefined) tx.remove(former);
    return;
  }
  const { result, events } = policies;
  tx.update(await tx.findOrNew(SERVER_KINDS.policyResult, place, () => result), result);
  await appendEvents(
    tx,
    reference,
    events.map((event) => ({ at: tx.nowMs, event })),
  );
}

/** Whether the plan of a run is applied without an approval: as it was requested, where the project allows that, or as the project says. */
function isAutoApplied(
  { autoApply, autoApplyRequested }: Pick<Run, "autoApply" | "autoApplyRequested">,
  project: Project | undefined,
): boolean {
  if (project !== undefined && requiresApproval(project)) return false;
  const always = project?.autoApply === Project_AutoApply.AUTO_APPLY_ALWAYS;
  return autoApplyRequested ? autoApply : always;
}

/** How a run ends without a plan. */
type PlanEnd =
  | {
      readonly phase: "no_changes";
      readonly revision: bigint;
      readonly shadowed?: ShadowedPlan | undefined;
      /** What the configuration allows of its providers. @default what was read of it at its upload */
      readonly providerConstraints?: readonly ProviderConstraint[] | undefined;
    }
  | { readonly phase: "failed"; readonly reason: string; readonly reasonCode: string };

/** Ends a run whose plan has no changes or could not be made. */
export async function endWithoutPlan(
  parts: TransactionParts,
  claim: RunClaim,
  end: PlanEnd,
): Promise<void> {
  await transact(parts, async (tx) => {
    const ticket = await requireClaim(tx, claim);
    const run = await readRun(tx, claim.reference);
    if (end.phase === "no_changes") {
      const { phase, revision, shadowed, providerConstraints } = end;
      await move(tx, requireAt(run, "planning"), phase, claim.worker.id, { revision });
      const { stack } = claim.reference;
      await recordConfiguration(tx, stack, run.row.message, providerConstraints);
      if (isDriftCheck(run.row.message)) {
        await recordDrift(tx, claim.reference, run.row.message, { found: NO_DRIFT, revision });
      }
      if (shadowed !== undefined) {
        await requestShadow(tx, claim.reference, run.row.message, shadowed);
      }
    } else {
      const awaited = await awaitedPlan(tx, claim.reference, run.row.message);
      if (awaited !== undefined && run.row.message.cancel === undefined) {
        // It keeps its place in the queue, and gets a ticket again once the other plan is made.
        const reason = `waits for the plan of the stack ${awaited}`;
        const change = { reason, attempts: 0 };
        await move(tx, requireAt(run, "planning"), "queued", claim.worker.id, change);
        tx.remove(ticket);
        return;
      }
      const { phase, ...change } = end;
      await move(tx, requireAt(run, "preparing", "planning"), phase, claim.worker.id, change);
      if (isDriftCheck(run.row.message)) await recordFailedCheck(tx, claim.reference, end.reason);
    }
    tx.remove(ticket);
    await leaveQueue(tx, claim.reference);
    if (end.phase === "failed") await requestRollback(tx, claim.reference, run.row);
  });
}
