import type { Logger } from "@stackwright/base/logger";
import { isEnded, type StackReference } from "@stackwright/core";
import type { Schedule } from "@stackwright/proto/stackwright";
import { type CallOptions, isStorageError, WILDCARD } from "@stackwright/storage";
import { memberPlace, type Place, RUN_KIND } from "../domain/run-places.ts";
import { isServerError, ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { addRun } from "../queue/enqueue.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { phaseOf } from "../queue/run-row.ts";
import { readQueue } from "../queue/stack-queue.ts";
import {
  type StoredRow,
  type Transaction,
  type TransactionParts,
  transact,
} from "../queue/transaction.ts";
import { nextTime } from "./schedule-times.ts";

// Invariants:
// - The run and the next time of its schedule are written in one step, which fails if another server did it first: so any number
//   of servers make one run for each time.
// - A time that passed while no server worked is made up for once, however many passed.
// - A schedule has one run that has not ended: a time that comes before its end is left out.

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
const KIND = SERVER_KINDS.schedule;

/**
 * Requests a run for each schedule that is due. What keeps one from it stays with the schedule (`lastProblem`), and concerns no
 * other. Resolves with the number of runs.
 */
export async function fireSchedules(
  parts: TransactionParts & { readonly logger: Logger },
  options?: CallOptions,
): Promise<number> {
  const { storage, logger } = parts;
  let fired = 0;
  const onDamaged = logDamaged(logger);
  const schedules = await listReadable(storage, KIND, ANYWHERE, { ...options, onDamaged });
  for (const { id, message } of schedules) {
    try {
      if (!isDue(message, parts.clock.wallMs())) continue;
      if (await fire(parts, id)) fired += 1;
    } catch (error) {
      if (isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
      logger.error({ schedule: id.name, err: error }, "a schedule could not request its run");
    }
  }
  return fired;
}

function isDue({ paused, nextAtMs }: Schedule, nowMs: number): boolean {
  return !paused && nextAtMs !== 0n && Number(nextAtMs) <= nowMs;
}

/** Requests the run of a schedule that is due; false where none was requested. */
async function fire(parts: TransactionParts, place: Place): Promise<boolean> {
  try {
    return await transact(parts, async (tx) => {
      const row = await findDue(tx, place);
      if (row === undefined) return false;
      const { message: schedule } = row;
      const stack = stackOf(place);
      await requireEnded(tx, stack, schedule.lastRun);
      const { configuration } = (await readQueue(tx, stack)).message;
      if (configuration === "") {
        throw new ServerError(
          "unprocessable",
          "nothing was applied to the stack by this server yet",
        );
      }
      const due = new Date(Number(schedule.nextAtMs)).toISOString();
      const run = await addRun(tx, {
        reference: { stack, run: parts.token() },
        stackName: schedule.stackName,
        configuration,
        mode: schedule.mode,
        actor: schedule.actor,
        automatic: true,
        background: true,
        cause: `schedule:${schedule.id}@${due}`,
        message: schedule.message,
        ...(schedule.autoApply !== undefined && { autoApply: schedule.autoApply }),
      });
      tx.update(row, { ...moveOn(schedule, tx.nowMs), lastRun: run.id, lastProblem: "" });
      return true;
    });
  } catch (error) {
    if (!isServerError(error)) throw error;
    await leaveOut(parts, place, error.message);
    return false;
  }
}

/** Moves a schedule on without a run. */
async function leaveOut(parts: TransactionParts, place: Place, problem: string): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await findDue(tx, place);
    if (row !== undefined)
      tx.update(row, { ...moveOn(row.message, tx.nowMs), lastProblem: problem });
  });
}

async function findDue(tx: Transaction, place: Place): Promise<StoredRow<Schedule> | undefined> {
  const row = await tx.find(KIND, place);
  return row !== undefined && isDue(row.message, tx.nowMs) ? row : undefined;
}

async function requireEnded(tx: Transaction, stack: StackReference, run: string): Promise<void> {
  if (run === "") return;
  const row = await tx.find(RUN_KIND, memberPlace(stack, run));
  if (row === undefined || isEnded(phaseOf(row.message))) return;
  throw new ServerError(
    "conflict",
    `the run ${row.message.number} of this schedule has not ended: it is ${phaseOf(row.message)}`,
  );
}

/** The next time lies behind the present one and behind now: by a clock that is ahead no time is due twice. */
function moveOn(schedule: Schedule, nowMs: number): Partial<Schedule> {
  const { cron, nextAtMs } = schedule;
  const next = cron === "" ? undefined : nextTime(schedule, Math.max(nowMs, Number(nextAtMs)));
  return { lastAtMs: nextAtMs, nextAtMs: BigInt(next ?? 0), updatedAtMs: BigInt(nowMs) };
}

function stackOf({ tenancy, name }: Place): StackReference {
  const { partition: account, namespace: project } = tenancy;
  return { account, project, stack: name.slice(0, name.indexOf(".")) };
}
