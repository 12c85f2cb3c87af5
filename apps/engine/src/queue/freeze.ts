import { isEnded, type StackReference } from "@stackwright/core";
import type { Freeze } from "@stackwright/proto/stackwright";
import { type Place, projectTenancy, type RunReference, stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { appendEvents } from "./append-events.ts";
import { readServerRun } from "./run-row.ts";
import { type Transaction, type TransactionParts, transact } from "./transaction.ts";

/** What is frozen: a project with all of its stacks, or one stack. */
export type FreezeTarget = Pick<StackReference, "account" | "project"> & {
  readonly stack?: string;
};

/** Where the freeze of a project or a stack is. Ids of stacks are ULIDs, so that none is called "project". */
export function freezePlace({ stack = "project", ...project }: FreezeTarget): Place {
  return { tenancy: projectTenancy(project), name: stack };
}

/** Whether a freeze has ended by itself. */
export function isThawed({ untilMs }: Freeze, nowMs: number): boolean {
  return untilMs !== 0n && Number(untilMs) <= nowMs;
}

/** Freezes a project or a stack: nothing begins to apply, plans are made. A former freeze is replaced. */
export async function freeze(
  parts: TransactionParts,
  target: FreezeTarget,
  given: { readonly actor: string; readonly reason: string; readonly forMs?: number | undefined },
): Promise<{ readonly freeze: Freeze; readonly isNew: boolean }> {
  const { actor, reason, forMs } = given;
  const place = freezePlace(target);
  return transact(parts, async (tx) => {
    const found = await tx.find(SERVER_KINDS.freeze, place);
    const message: Freeze = {
      actor,
      reason,
      atMs: BigInt(tx.nowMs),
      untilMs: forMs === undefined ? 0n : BigInt(tx.nowMs + forMs),
    };
    if (found === undefined) tx.create(SERVER_KINDS.freeze, place, message);
    else tx.update(found, message);
    return { freeze: message, isNew: found === undefined || isThawed(found.message, tx.nowMs) };
  });
}

/** Ends a freeze; what is not frozen stays as it is. */
export async function unfreeze(parts: TransactionParts, target: FreezeTarget): Promise<void> {
  await transact(parts, async (tx) => {
    const found = await tx.find(SERVER_KINDS.freeze, freezePlace(target));
    if (found !== undefined) tx.remove(found);
  });
}

/**
 * Whether no freeze keeps plans of a stack from being applied, also in the moment of the write. A freeze that ended by itself is
 * removed with it.
 */
export async function passFreezes(tx: Transaction, stack: StackReference): Promise<boolean> {
  const { account, project } = stack;
  const places = [stackPlace(stack), freezePlace({ account, project })];
  const found = await Promise.all(places.map(async (place) => tx.find(SERVER_KINDS.freeze, place)));
  if (found.some((row) => row !== undefined && !isThawed(row.message, tx.nowMs))) return false;
  for (const [index, place] of places.entries()) {
    const row = found[index];
    if (row === undefined) tx.guardAbsent(SERVER_KINDS.freeze, place);
    else tx.remove(row);
  }
  return true;
}

/** Lets a run apply although its stack or project is, or will be, frozen. `run_ended` for one that has ended. */
export async function overrideFreeze(
  parts: TransactionParts,
  reference: RunReference,
  { actor, reason }: { readonly actor: string; readonly reason: string },
): Promise<void> {
  await transact(parts, async (tx) => {
    const { row, phase } = await readServerRun(tx, reference);
    if (isEnded(phase)) throw new ServerError("run_ended", `the run has ended as ${phase}`);
    const at = BigInt(tx.nowMs);
    tx.update(row, { freezeOverride: { actor, reason, atMs: at }, updatedAtMs: at });
    const event = { type: "freeze-override", actor, reason };
    await appendEvents(tx, reference, [{ at: tx.nowMs, event }]);
  });
}
