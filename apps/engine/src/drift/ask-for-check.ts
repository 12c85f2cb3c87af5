import { createHash } from "node:crypto";
import type { StackReference } from "@stackwright/core";
import type { DriftHook, DriftRequest } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { derivedRunId } from "../domain/derived-run-id.ts";
import { DRIFT_CHECK } from "../domain/drift-rule.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { readDrift } from "../queue/drift-record.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { findStackTool, isOutside } from "../queue/stack-tool.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";
import { mayHaveObjectsAt } from "./stack-objects.ts";

// Invariants:
// - What a delivery asks for and that it was received are written in one step. Its run has an id that follows from the stack and the
//   delivery, so that a repetition, at whatever server and after whatever failure, asks for nothing.
// - A stack has one check that was asked for and is not requested yet, which takes further deliveries in. So no storm of events makes more
//   checks than can be done one after another, and what changed after a check began is checked once more.

/** Deliveries of a stack that are remembered. */
const MAX_DELIVERIES = 100;
/** Resources of a check, and characters of their addresses; for more, all are checked. */
const MAX_RESOURCES = 100;
const MAX_TEXT = 16 * 1024;

/** An authenticated delivery of a hook. */
interface HookDelivery {
  readonly hook: Pick<DriftHook, "id" | "actor">;
  /** As the sender names it: the same in each repetition. */
  readonly id: string;
  /** Addresses; empty: all. */
  readonly resources: readonly string[];
}

/**
 * Notes that a stack is to be checked, which the next sweep of a server does. Resolves with the id of the run, and whether the delivery is
 * new. `unprocessable` where nothing was applied to the stack yet, and where it has none of the resources, so that there is nothing to check;
 * of a large stack the check itself finds that.
 */
export async function askForCheck(
  parts: TransactionParts,
  { stack, stackName }: { readonly stack: StackReference; readonly stackName: string },
  { hook, id, resources }: HookDelivery,
): Promise<{ readonly run: string; readonly isNew: boolean }> {
  const sha256 = createHash("sha256").update([hook.id, id].join("\0")).digest("hex");
  const lacksAll = await lacks(parts, stack, resources, sha256);
  return transact(parts, async (tx) => {
    const row = await readDrift(tx, stack, stackName);
    const { asked, deliveries } = row.message;
    const known = deliveries.find((one) => one.sha256 === sha256);
    if (known !== undefined) return { run: known.run, isNew: false };
    if ((await readQueue(tx, stack)).message.configuration === "") {
      throw new ServerError("unprocessable", "nothing was applied to the stack by this server yet");
    }
    if (lacksAll) {
      throw new ServerError("unprocessable", "the stack has no object at any of these resources");
    }
    const request = asked ?? {
      run: derivedRunId(tx.nowMs, [DRIFT_CHECK, stack.stack, sha256]),
      atMs: BigInt(tx.nowMs),
      actor: hook.actor,
    };
    const { run } = request;
    tx.update(row, {
      stackName,
      asked: { ...request, resources: resourcesOf(asked, resources) },
      deliveries: [...deliveries, { sha256, run }].slice(-MAX_DELIVERIES),
    });
    return { run, isNew: true };
  });
}

/** Whether a stack has an object at none of some resources. What is taken in anyhow is not looked for. */
async function lacks(
  parts: TransactionParts,
  stack: StackReference,
  resources: readonly string[],
  delivery: string,
): Promise<boolean> {
  if (resources.length === 0) return false;
  const { storage } = parts;
  const found = await readStored(storage, "strong", idOf(SERVER_KINDS.drift, stackPlace(stack)));
  if (found !== undefined) {
    const { asked, deliveries } = decodeRecord(SERVER_KINDS.drift, found);
    if (asked?.resources.length === 0) return false;
    if (deliveries.some(({ sha256 }) => sha256 === delivery)) return false;
  }
  if (isOutside(await findStackTool(storage, stack))) return false;
  return !(await mayHaveObjectsAt(parts, stack, resources));
}

/** What is checked with a further delivery. */
function resourcesOf(asked: DriftRequest | undefined, more: readonly string[]): string[] {
  if (more.length === 0 || asked?.resources.length === 0) return [];
  const all = [...new Set([...(asked?.resources ?? []), ...more])];
  const text = all.reduce((sum, address) => sum + address.length, 0);
  return all.length > MAX_RESOURCES || text > MAX_TEXT ? [] : all;
}
