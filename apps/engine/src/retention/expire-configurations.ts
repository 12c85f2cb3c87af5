import type { StackReference } from "@stackwright/core";
import { isEngineError } from "@stackwright/core/errors";
import type { StackQueue } from "@stackwright/proto/stackwright";
import { isStorageError, listResources, type StorageBackend } from "@stackwright/storage";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import { memberPlace, planSetPlace, RUN_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";
import { readableRecords } from "./expired-records.ts";

// Invariants:
// - Who requests a run writes the queue of its stack, which is a guard of each removal: so no run is requested of what is removed.
// - What was uploaded, also once more, stays for longer than anything may refer to it that writes no queue.

const KIND = SERVER_KINDS.configuration;

/** The newest of a stack, which stay whatever refers to them. */
const PER_STACK = 50;
/** How long each one stays: uploads of the `cloud` block name one for a day. */
const YOUNG_MS = 48 * 3_600_000;
/** Removed in one step: each is a guard of it. */
const STEP = 6;

/** Configurations of one stack that are neither young nor among the newest. */
interface Surplus {
  readonly stack: StackReference;
  readonly digests: readonly string[];
}

/**
 * Removes the configuration versions that a stack has beyond its newest, and that nothing refers to: no run, no plan set, no schedule. Of a
 * stack of which something is damaged all stay, as it may refer to any. Resolves with their number.
 */
export async function expireConfigurations(
  parts: TransactionParts,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (const { stack, digests } of await surplusOf(parts, signal)) {
    try {
      for (let at = 0; at < digests.length; at += STEP) {
        signal.throwIfAborted();
        removed += await removeUnused(parts, stack, digests.slice(at, at + STEP), signal);
      }
    } catch (error) {
      // It is named by the doctor, and keeps none of other stacks.
      if (!isDamage(error)) throw error;
    }
  }
  return removed;
}

function isDamage(error: unknown): boolean {
  return isStorageError(error, "STORAGE_CORRUPT") || isEngineError(error, "ENGINE_STATE_CORRUPT");
}

async function surplusOf(
  { storage, clock }: TransactionParts,
  signal: AbortSignal,
): Promise<readonly Surplus[]> {
  const stacks = new Map<
    string,
    { stack: StackReference; found: [digest: string, at: number][] }
  >();
  for await (const { id, message } of readableRecords(storage, KIND, signal)) {
    const { partition: account, namespace: project } = id.tenancy;
    const stack = { account, project, stack: id.name.slice(0, id.name.indexOf(".")) };
    const key = Object.values(stack).join("\0");
    const one = stacks.get(key) ?? { stack, found: [] };
    one.found.push([message.digest, Number(message.createdAtMs)]);
    stacks.set(key, one);
  }
  const nowMs = clock.wallMs();
  return [...stacks.values()].map(({ stack, found }) => ({
    stack,
    digests: found
      .toSorted(([, a], [, b]) => b - a)
      .slice(PER_STACK)
      .flatMap(([digest, at]) => (nowMs - at > YOUNG_MS ? [digest] : [])),
  }));
}

async function removeUnused(
  parts: TransactionParts,
  stack: StackReference,
  digests: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  return transact(parts, async (tx) => {
    const queue = await tx.find(SERVER_KINDS.queue, stackPlace(stack));
    if (queue === undefined) tx.guardAbsent(SERVER_KINDS.queue, stackPlace(stack));
    else tx.guardRow(queue);
    const used = await usedBy(tx, parts.storage, stack, queue?.message, signal);
    let removed = 0;
    for (const digest of digests) {
      if (used.has(digest)) continue;
      const row = await tx.find(KIND, memberPlace(stack, digest));
      // It may have been uploaded once more.
      if (row === undefined || tx.nowMs - Number(row.message.createdAtMs) <= YOUNG_MS) continue;
      tx.remove(row);
      removed += 1;
    }
    return removed;
  });
}

/** The configurations that something of a stack refers to. */
async function usedBy(
  tx: Transaction,
  storage: StorageBackend,
  stack: StackReference,
  queue: StackQueue | undefined,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const used = new Set<string>();
  // Schedules, triggers and checks for drift have what was applied last.
  if (queue !== undefined) used.add(queue.configuration);
  for await (const run of membersOf(storage, RUN_KIND, stack, signal)) used.add(run.configuration);
  const uploads = membersOf(storage, SERVER_KINDS.configurationUpload, stack, signal);
  for await (const upload of uploads) used.add(upload.digest);
  const former = (await tx.find(SERVER_KINDS.rfsStack, stackPlace(stack)))?.message.former;
  if (former !== undefined) used.add(former.configuration);
  if (queue === undefined || queue.planSet === "") return used;
  const set = await tx.find(SERVER_KINDS.planSet, planSetPlace(stack, queue.planSet));
  for (const member of set?.message.members ?? []) used.add(member.configuration);
  return used;
}

async function* membersOf<M>(
  storage: StorageBackend,
  kind: RecordKind<M>,
  stack: StackReference,
  signal: AbortSignal,
): AsyncGenerator<M, undefined> {
  const { tenancy, name: prefix } = memberPlace(stack, "");
  const found = listResources(storage, "strong", kind.type, tenancy, prefix, { signal });
  for await (const one of found) yield decodeRecord(kind, one);
  return undefined;
}
