import type { NamedStack, StackReference } from "@stackwright/core";
import type { StackLock, TerraformLock } from "@stackwright/proto/stackwright";
import { stackPlace } from "../domain/run-places.ts";
import { isServerError, ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { isOver } from "../queue/stack-lock.ts";
import { requireKeptState } from "../queue/state-owner.ts";
import {
  type StoredRow,
  type Transaction,
  type TransactionParts,
  transact,
} from "../queue/transaction.ts";
import { reasonOf } from "./lock-info.ts";

// The lock of a stack is one record, of a person or of a command: each keeps out all others, and the runs of the server.

/** The lock of a stack that keeps a caller out. */
export class LockHeldError extends ServerError {
  readonly holder: StackLock;

  constructor(holder: StackLock) {
    super("stack_locked", `the stack is locked by ${holder.actor}: ${holder.reason}`);
    this.holder = holder;
  }
}

/**
 * Operations that write no state to a stack of the engine. A hand-back to the server that has the stack finds its state in place, and
 * ends the runs of the engine.
 */
const READING = new Set(["OperationTypePlan", "stackwright hand-back"]);

/**
 * Gives the lock of a stack to a command; the same request again finds it. {@link LockHeldError} where another one has it, or where a
 * command would change what the engine runs: it must not begin, as it could not store its state.
 */
export async function lockState(
  parts: TransactionParts,
  stack: NamedStack,
  { actor, lock }: { readonly actor: string; readonly lock: TerraformLock },
): Promise<void> {
  await transact(parts, async (tx) => {
    const given: StackLock = {
      actor,
      reason: reasonOf(lock),
      atMs: BigInt(tx.nowMs),
      untilMs: 0n,
      terraform: lock,
      notedAtMs: 0n,
    };
    if (!READING.has(lock.operation)) await requireOwnState(tx, stack);
    const place = stackPlace(stack.reference);
    const found = await tx.find(SERVER_KINDS.lock, place);
    if (found === undefined) {
      tx.create(SERVER_KINDS.lock, place, given);
      return;
    }
    const { message } = found;
    if (isOver(message, tx.nowMs)) tx.update(found, given);
    else if (message.terraform?.id !== lock.id || message.actor !== actor) {
      throw new LockHeldError(message);
    }
  });
}

/** As a lock that another has: all that a command shows of a refusal is the holder of the lock. */
async function requireOwnState(tx: Transaction, stack: NamedStack): Promise<void> {
  try {
    await requireKeptState(tx, { stack: stack.reference, name: stack.name });
  } catch (error) {
    if (!isServerError(error, "engine_state")) throw error;
    throw new LockHeldError({
      actor: "stackwright",
      reason: error.message,
      atMs: BigInt(tx.nowMs),
      untilMs: 0n,
      terraform: undefined,
      notedAtMs: 0n,
    });
  }
}

/**
 * Takes the lock from the command that has it. Where nothing is locked, nothing is done: the request may be one whose first answer
 * was lost. `conflict` where another has the lock.
 */
export async function unlockState(
  parts: TransactionParts,
  stack: StackReference,
  id: string,
): Promise<void> {
  await transact(parts, async (tx) => {
    const held = await heldLock(tx, stack);
    if (held === undefined) return;
    const { message } = held;
    if (message.terraform?.id !== id) {
      throw new ServerError(
        "conflict",
        `the lock ${id.slice(0, 128)} does not hold: the stack is locked by ${message.actor}: ${message.reason}`,
      );
    }
    tx.remove(held);
  });
}

/**
 * Takes the lock from whichever command has it, as `terraform force-unlock` does. That of a person only if it is the caller's own, or
 * with `force`: else `stack_locked`. Resolves with the lock.
 */
export async function breakLock(
  parts: TransactionParts,
  stack: StackReference,
  { actor, force }: { readonly actor: string; readonly force: boolean },
): Promise<StackLock | undefined> {
  return transact(parts, async (tx) => {
    const held = await heldLock(tx, stack);
    if (held === undefined) return undefined;
    const { message } = held;
    if (message.terraform === undefined && message.actor !== actor && !force) {
      throw new LockHeldError(message);
    }
    tx.remove(held);
    return message;
  });
}

/**
 * The lock under which a state is written, also in the moment of the write. Who names a lock must have it: one that is gone was broken
 * (`state_conflict`), so that another command may have changed the state since. {@link LockHeldError} where another has it.
 */
export async function requireLock(
  tx: Transaction,
  stack: StackReference,
  id: string | undefined,
): Promise<StackLock | undefined> {
  const found = await tx.find(SERVER_KINDS.lock, stackPlace(stack));
  if (found === undefined) tx.guardAbsent(SERVER_KINDS.lock, stackPlace(stack));
  else tx.guardRow(found);
  const held = found === undefined || isOver(found.message, tx.nowMs) ? undefined : found.message;
  if (held === undefined && id !== undefined) {
    throw new ServerError("state_conflict", `the lock ${id.slice(0, 128)} was broken`);
  }
  if (held !== undefined && (id === undefined || held.terraform?.id !== id)) {
    throw new LockHeldError(held);
  }
  return held;
}

async function heldLock(
  tx: Transaction,
  stack: StackReference,
): Promise<StoredRow<StackLock> | undefined> {
  const found = await tx.find(SERVER_KINDS.lock, stackPlace(stack));
  return found === undefined || isOver(found.message, tx.nowMs) ? undefined : found;
}
