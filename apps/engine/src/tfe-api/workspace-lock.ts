import type { StackReference } from "@stackwright/core";
import { type StackLock, TerraformLock } from "@stackwright/proto/stackwright";
import { stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { isOver } from "../queue/stack-lock.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";

// The lock of a workspace is that of its stack, which commands of the http backend and runs see as well. Its ID is of one lock
// alone: a state is stored under the lock with which it was announced, and under no later one of the same command.

const ID_PREFIX = "workspace:";

/** Whether a lock was made by {@link lockWorkspace}. */
export function isWorkspaceLock({ terraform }: StackLock): boolean {
  return terraform?.id.startsWith(ID_PREFIX) === true;
}

/** Locks a stack for a command. Undefined where it is locked already, also by the same token: two commands may have one token. */
export async function lockWorkspace(
  parts: TransactionParts,
  stack: StackReference,
  { actor, reason }: { readonly actor: string; readonly reason: string },
): Promise<StackLock | undefined> {
  const id = `${ID_PREFIX}${parts.token()}`;
  return transact(parts, async (tx) => {
    const lock: StackLock = {
      actor,
      reason,
      atMs: BigInt(tx.nowMs),
      untilMs: 0n,
      terraform: TerraformLock.fromPartial({ id, info: reason, who: actor }),
      notedAtMs: 0n,
    };
    const found = await tx.find(SERVER_KINDS.lock, stackPlace(stack));
    if (found !== undefined && !isOver(found.message, tx.nowMs)) return undefined;
    if (found === undefined) tx.create(SERVER_KINDS.lock, stackPlace(stack), lock);
    else tx.update(found, lock);
    return lock;
  });
}

/** Ends the caller's own lock; the lock of another stays, and is the answer. Undefined where nothing is locked. */
export async function unlockWorkspace(
  parts: TransactionParts,
  stack: StackReference,
  { actor }: { readonly actor: string },
): Promise<{ readonly ended: boolean; readonly lock: StackLock } | undefined> {
  return transact(parts, async (tx) => {
    const found = await tx.find(SERVER_KINDS.lock, stackPlace(stack));
    if (found === undefined || isOver(found.message, tx.nowMs)) return undefined;
    const { message: lock } = found;
    const isOwn = lock.actor === actor && (lock.terraform === undefined || isWorkspaceLock(lock));
    if (isOwn) tx.remove(found);
    return { ended: isOwn, lock };
  });
}
