import { isEnded, type RunPhase, storedRunPhase } from "@stackwright/core";
import type { Run, StackHead, StackQueue } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { memberPlace, RUN_KIND, STACK_HEAD_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { DAY_MS, type DoctorParts, HOUR_MS, MINUTE_MS } from "./doctor-parts.ts";
import { type Finding, finding } from "./finding.ts";
import { byStack } from "./stack-holds.ts";

const APPROVAL_MS = DAY_MS;
const CANCEL_MS = 15 * MINUTE_MS;
/** What a repair of queues takes at the most, many times over. */
const REPAIR_MS = 5 * MINUTE_MS;
const INTERRUPTED_MS = HOUR_MS;

/** What keeps the queues of stacks from moving. */
export async function queueFindings(parts: DoctorParts): Promise<readonly Finding[]> {
  const { records } = parts;
  const heads = byStack(await records.list(STACK_HEAD_KIND));
  const tickets = new Set(
    (await records.list(SERVER_KINDS.ticket)).map(
      ({ project, message }) => `${project}/${message.run}`,
    ),
  );
  const queues = await records.list(SERVER_KINDS.queue);
  const found: Finding[] = [];
  for (const { project, owner: stack, message: queue } of queues) {
    const at = `${project}/${stack}`;
    found.push(
      ...(await findingsOfQueue(parts, { project, stack }, queue, {
        head: heads.get(at),
        hasTicket: (run) => tickets.has(`${project}/${run}`),
      })),
    );
  }
  return found;
}

interface StackAt {
  readonly project: string;
  readonly stack: string;
}

interface QueueFacts {
  readonly head: StackHead | undefined;
  readonly hasTicket: (run: string) => boolean;
}

async function findingsOfQueue(
  parts: DoctorParts,
  stack: StackAt,
  queue: StackQueue,
  facts: QueueFacts,
): Promise<readonly Finding[]> {
  const { nowMs } = parts;
  const found: Finding[] = [];
  const at = { project: stack.project, stack: parts.nameOf(stack.project, stack.stack) };
  for (const id of [queue.current, ...queue.speculative]) {
    if (id === "") continue;
    const run = await readRun(parts, stack, id);
    if (run === undefined) continue;
    const phase = storedRunPhase(run.phase);
    if (phase === undefined) continue;
    const sinceMs = Number(run.updatedAtMs);
    const where = { ...at, run: id, sinceMs };
    const named = `run ${run.number}`;
    if (phase === "awaiting_approval" && nowMs - sinceMs >= APPROVAL_MS) {
      const behind = queue.pending.length;
      const blocks =
        behind === 0 ? "" : `; ${behind} ${behind === 1 ? "run waits" : "runs wait"} behind it`;
      found.push(finding("approval_waits", `${named} waits for an approval${blocks}`, where));
    }
    const { cancel } = run;
    if (cancel !== undefined && !isEnded(phase) && nowMs - Number(cancel.atMs) >= CANCEL_MS) {
      const detail = `${named} is ${phase} although ${cancel.actor} canceled it`;
      found.push(finding("cancel_waits", detail, { ...where, sinceMs: Number(cancel.atMs) }));
    }
    // An ended plan among those that need no turn holds nothing up; a later one takes it out.
    const hasTurn = isEnded(phase) && id === queue.current;
    const isLeft = hasTurn || (NEEDS_WORKER.has(phase) && !facts.hasTicket(id));
    if (isLeft && nowMs - sinceMs >= REPAIR_MS) {
      const detail = `${named} is ${phase} and has the turn of the stack, without a step for a worker`;
      found.push(finding("queue_without_turn", detail, where));
    }
  }
  if (queue.current === "" && queue.pending.length > 0) {
    const detail = "runs wait although none has the turn of the stack";
    found.push(finding("queue_without_turn", detail, at));
  }
  const open = facts.head?.run ?? "";
  if (open !== "" && open !== queue.current) {
    const run = await readRun(parts, stack, open);
    const sinceMs = run === undefined ? 0 : Number(run.updatedAtMs);
    if (nowMs - sinceMs >= INTERRUPTED_MS) {
      const detail = "an apply was interrupted, and its operations are not resolved";
      const since = sinceMs === 0 ? {} : { sinceMs };
      found.push(finding("apply_interrupted", detail, { ...at, run: open, ...since }));
    }
  }
  return found;
}

const NEEDS_WORKER: ReadonlySet<RunPhase> = new Set([
  "queued",
  "preparing",
  "planning",
  "planned",
  "approved",
  "applying",
]);

async function readRun(
  { account, storage, records, signal }: DoctorParts,
  { project, stack }: StackAt,
  run: string,
): Promise<Run | undefined> {
  const place = memberPlace({ account, project, stack }, run);
  return records.readOne(RUN_KIND, project, async () =>
    readStored(storage, "strong", idOf(RUN_KIND, place), { signal }),
  );
}
