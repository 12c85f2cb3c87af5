import { type Run, type RunTicket, RunTicket_Step } from "@stackwright/proto/stackwright";
import { type Guard, type ResourceId, readStored } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { FENCE_KIND, type RunReference, runOfTicket } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { ListedTicket } from "./choose-ticket.ts";
import { isApprovalOver } from "./expire-approval.ts";
import { passFreezes } from "./freeze.ts";
import { isPaused } from "./recovery-block.ts";
import { isExecutable } from "./run-protocol.ts";
import { isAt, isSpeculative, move, readRun } from "./run-row.ts";
import { passLock } from "./stack-lock.ts";
import { readQueue } from "./stack-queue.ts";
import {
  type StoredRow,
  type Transaction,
  type TransactionParts,
  transact,
} from "./transaction.ts";

/** A worker with its lease. */
export interface WorkerTenure {
  readonly id: string;
  readonly epoch: bigint;
  /** Names the fence of the worker's lease. */
  readonly guard: Guard;
  /** Aborts when the lease is lost. @default never */
  readonly lost?: AbortSignal;
}

/** The right to execute one step of a run: valid while the ticket has this version. */
export interface RunClaim {
  readonly reference: RunReference;
  readonly step: "plan" | "apply" | "recover";
  readonly ticket: ResourceId;
  readonly worker: WorkerTenure;
  readonly tokenDigest: string;
  /** Claims before this one that ended without a result. */
  readonly attempts: number;
  /** A plan that has at most half of the workers. */
  readonly background: boolean;
  /** Stage of the cancel that was requested before this claim; 0 without one. */
  readonly cancelStage: number;
  /** Where the step belongs, as W3C Trace Context writes it; empty: to a trace of the run alone. */
  readonly traceParent: string;
}

interface ClaimOptions {
  /**
   * What the ticket was when it was decided what its claim may do, and whether it is tried: one that differs by now is not claimed. A
   * run has tickets of one name for all of its steps. @default as it is
   */
  readonly listed?: ListedTicket["ticket"] | undefined;
  /** Whether the token of the claim may write the state of the stack. @default false */
  readonly writesState?: boolean;
  /** Number of the request of a remote worker that the claim answers. @default none */
  readonly request?: number | undefined;
}

export const STEPS: Readonly<Record<RunTicket_Step, RunClaim["step"] | undefined>> = {
  [RunTicket_Step.STEP_UNSPECIFIED]: undefined,
  [RunTicket_Step.STEP_PLAN]: "plan",
  [RunTicket_Step.STEP_APPLY]: "apply",
  [RunTicket_Step.STEP_RECOVER]: "recover",
};

/**
 * Claims a ticket for a worker; a run that is to be planned is `preparing` from then on. Undefined where another worker
 * was faster, the ticket is gone, or the stack is locked: then only plans without effects and recoveries begin. While the stack
 * or its project is frozen, no apply begins but one that an administrator lets pass. A recovery that waits is tried now and then.
 */
export async function claimTicket(
  parts: TransactionParts,
  ticketId: ResourceId,
  worker: WorkerTenure,
  tokenDigest: string,
  { listed, writesState = false, request = 0 }: ClaimOptions = {},
): Promise<RunClaim | undefined> {
  const place = { tenancy: ticketId.tenancy, name: ticketId.name };
  return transact(parts, async (tx) => {
    const ticket = await tx.find(SERVER_KINDS.ticket, place);
    if (ticket === undefined || ticket.message.claim !== undefined) return undefined;
    if (listed !== undefined && !isSame(ticket.message, listed)) return undefined;
    if (!isExecutable(ticket.message)) return undefined;
    const step = STEPS[ticket.message.step];
    if (step === undefined) return undefined;
    await requireTenure(tx, worker);
    const reference = runOfTicket(ticketId.tenancy, ticket.message);
    const run = await readRun(tx, reference);
    if (step === "recover" && isPaused(run.row.message, ticket.message, tx.nowMs)) return undefined;
    // No worker begins by what no longer counts; a sweep ends the run.
    if (step === "apply" && isApprovalOver(run, tx.nowMs)) return undefined;
    const isHeldUp = step !== "recover" && !isSpeculative(run.row.message);
    if (isHeldUp && !(await passLock(tx, reference.stack))) return undefined;
    const isFreezable = step === "apply" && run.row.message.freezeOverride === undefined;
    if (isFreezable && !(await passFreezes(tx, reference.stack))) return undefined;
    if (step === "plan") {
      if (!isAt(run, "queued")) return undefined;
      await move(tx, run, "preparing", worker.id, {
        ...(await lastApplied(tx, run.row.message, reference)),
        // What was said of an attempt that was lost.
        reason: "",
        reasonCode: "",
      });
    } else {
      // No other writer ends the run at the moment of the claim.
      tx.guardRow(run.row);
    }
    const { attempts, background, traceParent } = ticket.message;
    tx.update(ticket, {
      stuckNotedAtMs: 0n,
      claim: {
        worker: worker.id,
        epoch: worker.epoch,
        tokenDigest,
        sinceMs: BigInt(tx.nowMs),
        writesState,
        eventBatch: 0n,
        request: BigInt(request),
      },
      leftAtMs: 0n,
    });
    const cancelStage = run.row.message.cancel?.stage ?? 0;
    const { id } = ticket;
    return {
      reference,
      step,
      ticket: id,
      worker,
      tokenDigest,
      attempts,
      background,
      cancelStage,
      traceParent,
    };
  });
}

/** What became of a ticket that was listed as free and could not be claimed. */
export async function standingOf(
  { storage }: Pick<TransactionParts, "storage">,
  { id, ticket: listed }: ListedTicket,
): Promise<{
  /** The worker that has it; undefined where none has. */
  readonly worker: string | undefined;
  /** It is gone, or another step or attempt than was listed. */
  readonly isOther: boolean;
}> {
  const found = await readStored(storage, "strong", id);
  const ticket = found && decodeRecord(SERVER_KINDS.ticket, found);
  return {
    worker: ticket?.claim?.worker,
    isOther: ticket === undefined || !isSame(ticket, listed),
  };
}

function isSame(one: RunTicket, other: RunTicket): boolean {
  return one.step === other.step && one.attempts === other.attempts;
}

/**
 * The configuration of a run that no user chose: it may have waited behind a run that applied a newer one, and must not go back.
 * Only the run whose turn it is changes what was applied, so this needs no guard.
 */
async function lastApplied(
  tx: Transaction,
  { automatic, configuration }: Pick<Run, "automatic" | "configuration">,
  { stack }: RunReference,
): Promise<Pick<Run, "configuration">> {
  if (!automatic) return { configuration };
  const { message } = await readQueue(tx, stack);
  return { configuration: message.configuration === "" ? configuration : message.configuration };
}

/** The ticket of a claim, as a guard of everything that is written with it. `claim_lost` where another has it. */
export async function requireClaim(
  tx: Transaction,
  { ticket: { tenancy, name }, worker, tokenDigest }: RunClaim,
): Promise<StoredRow<RunTicket>> {
  const ticket = await tx.find(SERVER_KINDS.ticket, { tenancy, name });
  const claim = ticket?.message.claim;
  if (ticket === undefined || claim?.tokenDigest !== tokenDigest || claim.worker !== worker.id) {
    throw new ServerError("claim_lost");
  }
  tx.guardRow(ticket);
  return ticket;
}

/** A worker that lost its lease claims nothing more. */
async function requireTenure(tx: Transaction, { guard }: WorkerTenure): Promise<void> {
  tx.guard(guard);
  const fence = await tx.find(FENCE_KIND, guard.id);
  if (fence?.resource.version !== guard.version) {
    throw new ServerError("claim_lost", "the lease of the worker was lost");
  }
}
