import type { Logger } from "@stackwright/base/logger";
import {
  removeNamed,
  removeStackKinds,
  removeStackState,
  type StackReference,
} from "@stackwright/core";
import { isStorageError, type ResourceType, WILDCARD } from "@stackwright/storage";
import { stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";
import { consumerOf, listTriggers } from "../trigger/trigger-graph.ts";
import { variablePrefix } from "../worker/run-variables.ts";

// Invariants:
// - The record of a deletion is written in the step that takes the name of the stack away. So a stack without a name has either all
//   that it had and a record, or nothing.
// - The record stays for an hour after all is removed, and what is there by then is removed with it: a request that read the stack before
//   its name was gone may write later, but ends long before.

const KIND = SERVER_KINDS.deletion;
const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** How long a request may still write that began before the name of its stack was gone. */
const LATE_WRITES_MS = 3_600_000;

/** The kinds of the server whose names begin with that of a stack. */
export const KINDS_OF_STACKS: readonly ResourceType[] = Object.values(SERVER_KINDS)
  .filter(
    ({ scope, nameParts: [first] }) =>
      scope === "project" && (first === "stack" || first === "project or stack"),
  )
  .map(({ type }) => type);

type DeletionParts = TransactionParts & { readonly logger?: Logger | undefined };

/** Records that a stack is deleted, in the step that takes its name away. */
export function noteDeletion(tx: Transaction, stack: StackReference, stackName: string): void {
  const message = { stackName, atMs: BigInt(tx.nowMs), removedAtMs: 0n };
  tx.create(KIND, stackPlace(stack), message);
}

/** Removes what belongs to a stack whose name is gone. What an interruption leaves is removed by {@link finishDeletions}. */
export async function finishDeletion(parts: DeletionParts, stack: StackReference): Promise<void> {
  const { storage } = parts;
  // What is secret first: without its keys the rest is not readable.
  await removeStackState(storage, stack);
  await removeNamed(storage, {
    stack,
    kind: SERVER_KINDS.variable.type,
    name: variablePrefix(stack).slice(0, -1),
  });
  const kinds = KINDS_OF_STACKS.filter((kind) => kind !== KIND.type);
  await removeStackKinds(storage, stack, kinds);
  await removeFollowers(parts, stack);
  await transact(parts, async (tx) => {
    const row = await tx.find(KIND, stackPlace(stack));
    if (row === undefined) return;
    const { removedAtMs } = row.message;
    if (removedAtMs === 0n) tx.update(row, { removedAtMs: BigInt(tx.nowMs) });
    else if (tx.nowMs - Number(removedAtMs) >= LATE_WRITES_MS) tx.remove(row);
  });
}

/** Finishes the deletions of all projects that were interrupted, or had late writes. Resolves with their number. */
export async function finishDeletions(parts: DeletionParts, signal?: AbortSignal): Promise<number> {
  const { storage, clock, logger } = parts;
  let finished = 0;
  const onDamaged = logDamaged(logger);
  const deletions = await listReadable(storage, KIND, ANYWHERE, { signal, onDamaged });
  for (const { id, message } of deletions) {
    signal?.throwIfAborted();
    const { tenancy, name } = id;
    const stack = { account: tenancy.partition, project: tenancy.namespace, stack: name };
    try {
      const { removedAtMs } = message;
      const isDue = removedAtMs === 0n || clock.wallMs() - Number(removedAtMs) >= LATE_WRITES_MS;
      if (!isDue) continue;
      await finishDeletion(parts, stack);
      finished += 1;
    } catch (error) {
      if (isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
      logger?.error({ ...stack, err: error }, "the deletion of a stack could not be finished");
    }
  }
  return finished;
}

/** The triggers of other stacks that follow the outputs of this one: there are none any more. */
async function removeFollowers(
  { storage, logger }: DeletionParts,
  { account, project, stack }: StackReference,
): Promise<void> {
  for (const { place, message } of await listTriggers({ storage, logger }, account)) {
    if (message.producer !== stack || message.producerProject !== project) continue;
    const given = { stack: consumerOf(place), kind: SERVER_KINDS.trigger.type, name: place.name };
    await removeNamed(storage, given);
  }
}
