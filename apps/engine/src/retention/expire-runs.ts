import { isEnded } from "@stackwright/core";
import { type Run, Run_Mode } from "@stackwright/proto/stackwright";
import {
  listResourceHeads,
  listResources,
  type Resource,
  readStored,
  type StorageBackend,
  WILDCARD,
} from "@stackwright/storage";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import {
  type Place,
  RUN_KIND,
  type RunReference,
  runPlace,
  STACK_HEAD_KIND,
  stackPlace,
} from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { phaseOf } from "../queue/run-row.ts";
import { idOf } from "../queue/transaction.ts";

/** How long a server keeps its runs. */
export interface RunRetention {
  /** Newest ended runs of a stack that stay. @default 200 */
  readonly perStack?: number | undefined;
  /** How long an ended run stays. @default 400 days */
  readonly maxAgeMs?: number | undefined;
  /** How long the events of an ended run stay. @default 90 days */
  readonly logAgeMs?: number | undefined;
}

const DAY_MS = 24 * 3_600_000;

/** How long a server without options keeps its runs. */
const DEFAULT_RUN_RETENTION = Object.freeze({
  perStack: 200,
  maxAgeMs: 400 * DAY_MS,
  logAgeMs: 90 * DAY_MS,
});

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** The bounds with the defaults filled in. */
export function resolveRunRetention({ perStack, maxAgeMs, logAgeMs }: RunRetention) {
  const { perStack: most, maxAgeMs: age, logAgeMs: logAge } = DEFAULT_RUN_RETENTION;
  return {
    perStack: perStack ?? most,
    maxAgeMs: maxAgeMs ?? age,
    logAgeMs: logAgeMs ?? logAge,
  };
}

/** What is kept of each run while all are looked through: of large installations there are 100,000. */
interface EndedRun extends Pick<Resource, "id" | "version"> {
  readonly reference: RunReference;
  readonly number: bigint;
  readonly updatedAtMs: number;
}

/**
 * Removes ended runs of servers that are old, or beyond the newest ones of their stack, with their events and summaries; and
 * the events alone of those that stay longer. A run that the head of its stack names stays: its operations are not recovered.
 * Resolves with the number of runs that were removed.
 */
export async function expireRuns(
  storage: StorageBackend,
  retention: RunRetention,
  nowMs: number,
  signal: AbortSignal,
): Promise<number> {
  const { perStack, maxAgeMs, logAgeMs } = resolveRunRetention(retention);
  let removed = 0;
  for (const runs of (await endedRuns(storage, signal)).values()) {
    const newestFirst = runs.toSorted((a, b) => Number(b.number - a.number));
    for (const [index, one] of newestFirst.entries()) {
      signal.throwIfAborted();
      const ageMs = nowMs - one.updatedAtMs;
      const isOver = index >= perStack || ageMs > maxAgeMs;
      if (isOver && !(await isOpen(storage, one))) {
        await removeEvents(storage, one.reference);
        await remove(storage, SERVER_KINDS.log, runPlace(one.reference));
        await remove(storage, SERVER_KINDS.summary, runPlace(one.reference));
        await remove(storage, SERVER_KINDS.policyResult, runPlace(one.reference));
        await remove(storage, SERVER_KINDS.comparison, runPlace(one.reference));
        // The last one: what is left of an interrupted removal is found by its run.
        await storage.deleteCAS(one.id, one.version);
        removed += 1;
      } else if (ageMs > logAgeMs) await removeEvents(storage, one.reference);
    }
  }
  return removed;
}

async function endedRuns(
  storage: StorageBackend,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, EndedRun[]>> {
  const byStack = new Map<string, EndedRun[]>();
  const { type } = RUN_KIND;
  for await (const resource of listResources(storage, "strong", type, ANYWHERE, "", { signal })) {
    const { id, version } = resource;
    let run: Run;
    try {
      run = decodeRecord(RUN_KIND, resource);
      if (run.mode === Run_Mode.MODE_UNSPECIFIED || !isEnded(phaseOf(run))) continue;
    } catch {
      // Of a newer release, or damaged: not ours to remove.
      continue;
    }
    const stack = {
      account: id.tenancy.partition,
      project: id.tenancy.namespace,
      stack: run.stack,
    };
    const key = Object.values(stack).join("\0");
    const runs = byStack.get(key) ?? [];
    runs.push({
      id,
      version,
      reference: { stack, run: run.id },
      number: run.number,
      updatedAtMs: Number(run.updatedAtMs),
    });
    byStack.set(key, runs);
  }
  return byStack;
}

async function isOpen(storage: StorageBackend, { reference }: EndedRun): Promise<boolean> {
  const id = idOf(STACK_HEAD_KIND, stackPlace(reference.stack));
  const head = await readStored(storage, "strong", id);
  return head !== undefined && decodeRecord(STACK_HEAD_KIND, head).run === reference.run;
}

async function removeEvents(storage: StorageBackend, reference: RunReference): Promise<void> {
  const { tenancy, name } = runPlace(reference);
  const { type } = SERVER_KINDS.segment;
  const segments = listResourceHeads(storage, "strong", type, tenancy, `${name}.`);
  for await (const { id, version } of segments) {
    await storage.deleteCAS(id, version);
  }
}

async function remove<M>(
  storage: StorageBackend,
  kind: RecordKind<M>,
  place: Place,
): Promise<void> {
  const found = await readStored(storage, "strong", idOf(kind, place));
  if (found !== undefined) await storage.deleteCAS(found.id, found.version);
}
