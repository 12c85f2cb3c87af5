import type { StackReference } from "@stackwright/core";
import type { StackLock } from "@stackwright/proto/stackwright";
import { stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type Transaction, type TransactionParts, transact } from "./transaction.ts";

/** Whether a lock has ended by itself. */
export function isOver({ untilMs }: StackLock, nowMs: number): boolean {
  return untilMs !== 0n && Number(untilMs) <= nowMs;
}

/**
 * Locks a stack: its runs wait, and terraform and tofu commands cannot lock its state. A lock of the same actor is replaced;
 * `stack_locked` where another has one, or a command.
 */
export async function lockStack(
  parts: TransactionParts,
  stack: StackReference,
  given: { readonly actor: string; readonly reason: string; readonly forMs?: number | undefined },
): Promise<{ readonly lock: StackLock; readonly isNew: boolean }> {
  const { actor, reason, forMs } = given;
  return transact(parts, async (tx) => {
    const found = await tx.find(SERVER_KINDS.lock, stackPlace(stack));
    const isTaken = found !== undefined && !isOver(found.message, tx.nowMs);
    if (isTaken && (found.message.actor !== actor || found.message.terraform !== undefined)) {
      throw new ServerError("stack_locked", lockedBy(found.message));
    }
    const lock: StackLock = {
      actor,
      reason,
      atMs: BigInt(tx.nowMs),
      untilMs: forMs === undefined ? 0n : BigInt(tx.nowMs + forMs),
      terraform: undefined,
      notedAtMs: 0n,
    };
    if (found === undefined) tx.create(SERVER_KINDS.lock, stackPlace(stack), lock);
    else tx.update(found, lock);
    return { lock, isNew: !isTaken };
  });
}

/**
 * Unlocks a stack. Only who locked it may do so without force, and the lock of a command needs force in any case: it is at work
 * with the state. A stack without a lock stays as it is.
 */
export async function unlockStack(
  parts: TransactionParts,
  stack: StackReference,
  { actor, force }: { readonly actor: string; readonly force: boolean },
): Promise<void> {
  await transact(parts, async (tx) => {
    const found = await tx.find(SERVER_KINDS.lock, stackPlace(stack));
    if (found === undefined) return;
    const { message } = found;
    const isOwn = message.actor === actor && message.terraform === undefined;
    if (!isOwn && !force && !isOver(message, tx.nowMs)) {
      throw new ServerError("stack_locked", `${lockedBy(message)}; an administrator may use force`);
    }
    tx.remove(found);
  });
}

/**
 * Whether no lock keeps runs of a stack from beginning, also in the moment of the write. A lock that ended by itself is
 * removed with it.
 */
export async function passLock(tx: Transaction, stack: StackReference): Promise<boolean> {
  const found = await tx.find(SERVER_KINDS.lock, stackPlace(stack));
  if (found === undefined) tx.guardAbsent(SERVER_KINDS.lock, stackPlace(stack));
  else if (isOver(found.message, tx.nowMs)) tx.remove(found);
  else return false;
  return true;
}

function lockedBy({ actor, reason }: StackLock): string {
  return `the stack is locked by ${actor}: ${reason}`;
}
