import { isEnded, storedRunPhase } from "@stackwright/core";
import { isEngineError } from "@stackwright/core/errors";
import { type Run, Run_Mode } from "@stackwright/proto/stackwright";
import {
  isStorageError,
  listResourceHeads,
  type Resource,
  readStored,
  type StorageBackend,
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
import { idOf } from "../queue/transaction.ts";
import { readableRecords } from "./expired-records.ts";

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

/** The bounds with the defaults filled in. */
export function resolveRunRetention({ perStack, maxAgeMs, logAgeMs }: RunRetention) {
  const { perStack: most, maxAgeMs: age, logAgeMs: logAge } = DEFAULT_RUN_RETENTION;
  return {
    perStack: perStack ?? most,
    maxAgeMs: maxAgeMs ?? age,
    logAgeMs: logAgeMs ?? logAge,
  };
}

/** How many runs were removed, and how many others lost their events. */
interface ExpiredRuns {
  readonly runs: number;
  readonly logs: number;
}

/** Whether a run has ended; a phase of a newer release is none that is known to be an end. */
function hasEnded(run: Run): boolean {
  const phase = storedRunPhase(run.phase);
  return phase !== undefined && isEnded(phase);
}

/** What is kept of each run while all are looked through: of large installations there are 100,000. */
interface EndedRun extends Pick<Resource, "id" | "version"> {
  readonly reference: RunReference;
  readonly number: bigint;
  readonly updatedAtMs: number;
}

/**
 * Removes ended runs of servers that are old, or beyond the newest ones of their stack, with their events and summaries; and
 * the events alone of those that stay longer. A run that the head of its stack names stays: its operations are not recovered. So does one of which
 * something is damaged, and the head of its stack may be. Resolves with the number of runs that were removed, and of those that lost their events alone.
 */
export async function expireRuns(
  storage: StorageBackend,
  retention: RunRetention,
  nowMs: number,
  signal: AbortSignal,
): Promise<ExpiredRuns> {
  const { perStack, maxAgeMs, logAgeMs } = resolveRunRetention(retention);
  let removed = 0;
  let logs = 0;
  for (const runs of (await endedRuns(storage, signal)).values()) {
    const newestFirst = runs.toSorted((a, b) => Number(b.number - a.number));
    for (const [index, one] of newestFirst.entries()) {
      signal.throwIfAborted();
      const ageMs = nowMs - one.updatedAtMs;
      const isOver = index >= perStack || ageMs > maxAgeMs;
      try {
        if (isOver && !(await isOpen(storage, one))) {
          await removeRun(storage, one);
          removed += 1;
        } else if (ageMs > logAgeMs && (await removeEvents(storage, one.reference))) logs += 1;
      } catch (error) {
        // It is named by the doctor, and keeps none of the others.
        if (!isDamage(error)) throw error;
      }
    }
  }
  return { runs: removed, logs };
}

function isDamage(error: unknown): boolean {
  return isStorageError(error, "STORAGE_CORRUPT") || isEngineError(error, "ENGINE_STATE_CORRUPT");
}

async function removeRun(
  storage: StorageBackend,
  { id, version, reference }: EndedRun,
): Promise<void> {
  await removeEvents(storage, reference);
  await remove(storage, SERVER_KINDS.log, runPlace(reference));
  await remove(storage, SERVER_KINDS.summary, runPlace(reference));
  await remove(storage, SERVER_KINDS.policyResult, runPlace(reference));
  await remove(storage, SERVER_KINDS.comparison, runPlace(reference));
  // The last one: what is left of an interrupted removal is found by its run.
  await storage.deleteCAS(id, version);
}

async function endedRuns(
  storage: StorageBackend,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, EndedRun[]>> {
  const byStack = new Map<string, EndedRun[]>();
  for await (const { id, version, message: run } of readableRecords(storage, RUN_KIND, signal)) {
    if (run.mode === Run_Mode.MODE_UNSPECIFIED || !hasEnded(run)) continue;
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

/** Whether there were any. */
async function removeEvents(storage: StorageBackend, reference: RunReference): Promise<boolean> {
  let found = false;
  const { tenancy, name } = runPlace(reference);
  const { type } = SERVER_KINDS.segment;
  const segments = listResourceHeads(storage, "strong", type, tenancy, `${name}.`);
  for await (const { id, version } of segments) {
    await storage.deleteCAS(id, version);
    found = true;
  }
  return found;
}

async function remove<M>(
  storage: StorageBackend,
  kind: RecordKind<M>,
  place: Place,
): Promise<void> {
  const found = await readStored(storage, "strong", idOf(kind, place));
  if (found !== undefined) await storage.deleteCAS(found.id, found.version);
}
