import { readStored } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import type { ExecutionEnd } from "../executor/executor.ts";
import type { RunClaim } from "../queue/claim.ts";
import { phaseOf } from "../queue/run-row.ts";
import { idOf } from "../queue/transaction.ts";
import type { ClaimJob } from "./claim-host.ts";
import { type StoredClaimParts, storedClaimHost } from "./stored-claim-host.ts";

// What a server does for a remote worker where that is more than its own worker does: each request may be sent again.

/** What has to be done for a claim, which is given back where this server cannot say it. */
export async function startClaim(parts: StoredClaimParts, claim: RunClaim): Promise<ClaimJob> {
  const host = storedClaimHost(parts, claim);
  try {
    return await host.job();
  } catch (error) {
    // Only this server knows why, such as a key that it has not.
    if (!host.isAway(error)) await host.giveUp(error);
    throw error;
  }
}

export async function beginPlanningOnce(parts: StoredClaimParts, claim: RunClaim): Promise<void> {
  const found = await storedRun(parts, claim.reference);
  // The request was answered before, and the answer was lost: no other moves the run while the claim is valid.
  const isDone = found !== undefined && phaseOf(found) === "planning";
  if (!isDone || claim.step !== "plan") await storedClaimHost(parts, claim).beginPlanning();
}

/** Stage of the cancel of the run of a claim; 0 without one. */
export async function cancelStageOf(
  parts: Pick<StoredClaimParts, "storage">,
  { reference }: RunClaim,
): Promise<number> {
  return (await storedRun(parts, reference))?.cancel?.stage ?? 0;
}

/** How a remote worker says that the execution of a claim ended. */
type ClaimEnding = {
  /** Why the execution was stopped, where it missed its deadline. */
  readonly late?: string | undefined;
  /** The worker ends in an orderly way: what it gives back was not lost. @default false */
  readonly returned?: boolean | undefined;
} & (
  | { readonly end: ExecutionEnd }
  /** Why no execution began. */
  | { readonly givenUp: string }
);

export async function endClaim(
  parts: StoredClaimParts,
  claim: RunClaim,
  { late, returned = false, ...ended }: ClaimEnding,
): Promise<void> {
  const host = storedClaimHost(parts, claim, returned ? AbortSignal.abort() : undefined);
  if ("end" in ended) await host.end(ended.end, late);
  else await host.giveUp(new Error(ended.givenUp));
}

async function storedRun({ storage }: Pick<StoredClaimParts, "storage">, reference: RunReference) {
  const found = await readStored(storage, "strong", idOf(RUN_KIND, runPlace(reference)));
  return found && decodeRecord(RUN_KIND, found);
}
