import type { ProviderConstraint } from "@stackwright/proto/stackwright";
import {
  FENCE_KIND,
  type RunReference,
  STACK_HEAD_KIND,
  stackPlace,
} from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { type RunClaim, requireClaim } from "./claim.ts";
import { clearDrift } from "./drift-record.ts";
import { leavesParts, requestNextStage } from "./next-stage.ts";
import { requestRollback } from "./request-rollback.ts";
import { isAt, move, readRun, requireAt } from "./run-row.ts";
import { requireOpenSet } from "./set-member.ts";
import { leaveQueue, recordConfiguration } from "./stack-queue.ts";
import { APPLY_UNKNOWN, readStackTool } from "./stack-tool.ts";
import { type Transaction, type TransactionParts, transact } from "./transaction.ts";

/** `approved` (or `applying`, after an interruption) to `applying`, under the stack's fence of the given epoch. */
export async function beginApply(
  parts: TransactionParts,
  claim: RunClaim,
  epoch: bigint,
): Promise<void> {
  await transact(parts, async (tx) => {
    await requireClaim(tx, claim);
    const run = requireAt(await readRun(tx, claim.reference), "approved", "applying");
    if (isAt(run, "approved") && run.row.message.cancel !== undefined) {
      throw new ServerError("illegal_transition", "the run is canceled");
    }
    if (isAt(run, "approved")) await requireOpenSet(tx, claim.reference, run.row.message);
    const fence = await tx.find(FENCE_KIND, stackPlace(claim.reference.stack));
    if (fence === undefined || fence.message.epoch !== epoch || fence.message.owner === "") {
      throw new ServerError("claim_lost", "the stack is held by another worker");
    }
    tx.guardRow(fence);
    // Asked again by a worker whose server died before it answered: each epoch has one writer, so it is the same apply.
    if (isAt(run, "applying") && run.row.message.epoch === epoch) return;
    await move(tx, run, "applying", claim.worker.id, { epoch });
  });
}

/** How an apply ends. */
interface ApplyEnd {
  readonly phase: "applied" | "partially_applied" | "failed" | "canceled" | "superseded";
  readonly revision?: bigint;
  readonly reason?: string;
  readonly reasonCode?: string;
  /** Name of the stack; absent where it takes no further runs. */
  readonly stackName?: string | undefined;
  /** What the configuration allows of its providers. @default what was read of it at its upload */
  readonly providerConstraints?: readonly ProviderConstraint[] | undefined;
}

/**
 * Ends a run that was to be applied and lets the next run of the stack begin. `conflict` while the state is open: then
 * something of the run is still to be resolved.
 */
export async function endApply(
  parts: TransactionParts,
  claim: RunClaim,
  { phase, stackName, providerConstraints, ...change }: ApplyEnd,
): Promise<void> {
  const { reference, worker } = claim;
  await transact(parts, async (tx) => {
    const ticket = await requireClaim(tx, claim);
    const run = requireAt(await readRun(tx, reference), "approved", "applying");
    if (isAt(run, "applying")) {
      if (phase === "superseded") throw new ServerError("illegal_transition");
      await requireRest(tx, reference);
      await move(tx, run, phase, worker.id, change);
      if (phase === "applied" || phase === "partially_applied") {
        await recordConfiguration(tx, reference.stack, run.row.message, providerConstraints);
      }
      // Drift of what is left to a later stage was not looked at.
      if (phase === "applied" && !leavesParts(run.row.message)) {
        await clearDrift(tx, reference.stack, run.row.message);
      }
      if (run.row.message.tool !== "") await recordAttention(tx, reference, change.reasonCode);
    } else {
      const before = requireAt(run, "approved");
      if (phase === "applied" || phase === "partially_applied") {
        throw new ServerError("illegal_transition", `an approved run cannot be ${phase}`);
      }
      // The executor was not allowed to begin.
      const { cancel } = before.row.message;
      if (cancel === undefined) await move(tx, before, phase, worker.id, change);
      else await move(tx, before, "canceled", worker.id, { reason: `canceled by ${cancel.actor}` });
    }
    tx.remove(ticket);
    await leaveQueue(tx, reference);
    if (phase === "applied" && stackName !== undefined) {
      await requestNextStage(tx, reference, run.row, stackName);
    }
    if (phase === "failed" || phase === "partially_applied") {
      await requestRollback(tx, reference, run.row);
    }
  });
}

/** Marks a stack whose apply by a tool ended with an unknown outcome, until one has ended with a known one. */
async function recordAttention(
  tx: Transaction,
  { stack, run }: RunReference,
  reasonCode: string | undefined,
): Promise<void> {
  const tool = await readStackTool(tx, stack);
  const attention = reasonCode === APPLY_UNKNOWN ? run : "";
  if (tool.message.attention !== attention) tx.update(tool, { attention });
}

/** The head of the stack is idle, and stays idle until the batch is written. */
async function requireRest(tx: Transaction, { stack, run }: RunReference): Promise<void> {
  const head = await tx.find(STACK_HEAD_KIND, stackPlace(stack));
  if (head === undefined) return;
  if (head.message.run === run) {
    throw new ServerError("conflict", "the state of the stack is still open");
  }
  tx.guardRow(head);
}
