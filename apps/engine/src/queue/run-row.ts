import {
  isEnded,
  isRunTransition,
  type NextRunPhase,
  type RunPhase,
  STORED_RUN_PHASES,
  storedRunPhase,
} from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { type Run, Run_Mode } from "@stackwright/proto/stackwright";
import { EVENT_OF_PHASE } from "../domain/notification-events.ts";
import { modeNameOf } from "../domain/run-modes.ts";
import { RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { appendEvents } from "./append-events.ts";
import { noteEvent } from "./note-event.ts";
import type { StoredRow, Transaction } from "./transaction.ts";

/** A run that was read in a phase. */
export interface RunAt<P extends RunPhase> {
  readonly reference: RunReference;
  readonly row: StoredRow<Run>;
  readonly phase: P;
}

/** What changes with a transition. */
type RunChange = Partial<
  Pick<
    Run,
    | "applyTraceParent"
    | "approvalDeadlineMs"
    | "approvals"
    | "approvalValidMs"
    | "attempts"
    | "autoApply"
    | "baseRevision"
    | "approvers"
    | "cancel"
    | "configuration"
    | "epoch"
    | "excludeAuthor"
    | "planDigest"
    | "reason"
    | "reasonCode"
    | "requiredApprovals"
    | "revision"
    | "stage"
    | "supersededBy"
  >
>;

/** Transitions that a run remembers; the log has all. */
const HISTORY = 64;

/** Characters of a reason: the first error of a plan may hold a whole answer of a provider. */
const REASON = 4_096;

/** Reads a run. `not_found` if it does not exist. */
export async function readRun(tx: Transaction, reference: RunReference): Promise<RunAt<RunPhase>> {
  const row = await tx.get(RUN_KIND, runPlace(reference));
  return { reference, row, phase: phaseOf(row.message) };
}

/** Reads a run that this server made. `command_run` for one that a command executes, which keeps no ticket and no queue. */
export async function readServerRun(
  tx: Transaction,
  reference: RunReference,
): Promise<RunAt<RunPhase>> {
  const run = await readRun(tx, reference);
  if (run.row.message.mode !== Run_Mode.MODE_UNSPECIFIED) return run;
  throw new ServerError(
    "command_run",
    `the run ${reference.run} was made by a command; approve, discard or cancel it there`,
  );
}

/** Whether a run ends with its plan: it needs no place in the queue, and blocks no other run. */
export function isSpeculative({ mode, planOnly }: Pick<Run, "mode" | "planOnly">): boolean {
  return planOnly || mode === Run_Mode.MODE_PLAN_ONLY;
}

/** The phase of a run as it is stored. */
export function phaseOf({ id, phase }: Pick<Run, "id" | "phase">): RunPhase {
  const found = storedRunPhase(phase);
  if (found !== undefined) return found;
  throw new EngineError("ENGINE_STATE_CORRUPT", `the run ${id} is in an unknown phase`);
}

/** Whether a run is in one of some phases. */
export function isAt<P extends RunPhase>(
  run: RunAt<RunPhase>,
  ...phases: readonly P[]
): run is RunAt<P> {
  return (phases as readonly RunPhase[]).includes(run.phase);
}

/** `run_ended` or `illegal_transition` unless a run is in one of some phases. */
export function requireAt<P extends RunPhase>(
  run: RunAt<RunPhase>,
  ...phases: readonly P[]
): RunAt<P> {
  if (isAt(run, ...phases)) return run;
  const { id } = run.row.message;
  if (isEnded(run.phase)) {
    throw new ServerError("run_ended", `the run ${id} has ended: it is ${run.phase}`);
  }
  throw new ServerError(
    "illegal_transition",
    `the run ${id} is ${run.phase}; this needs ${phases.join(" or ")}`,
  );
}

/** Phases that every one of some phases leads to. */
type Reachable<P extends RunPhase> = (
  P extends unknown
    ? (next: NextRunPhase<P>) => void
    : never
) extends (next: infer N) => void
  ? N & RunPhase
  : never;

/**
 * Moves a run within a transaction: phase, history, log and the events of destinations in one step. A pair of phases that the table lacks does not
 * compile, and is refused where types do not say enough.
 */
export async function move<P extends RunPhase, N extends Reachable<P>>(
  tx: Transaction,
  run: RunAt<P>,
  to: N,
  actor: string,
  given: RunChange = {},
): Promise<RunAt<N>> {
  const isLong = given.reason !== undefined && given.reason.length > REASON;
  const change = isLong ? { ...given, reason: `${given.reason?.slice(0, REASON)}…` } : given;
  const { row, phase: from, reference } = run;
  if (!isRunTransition(from, to)) {
    throw new ServerError("illegal_transition", `no run goes from ${from} to ${to}`);
  }
  const { history } = row.message;
  const entry = {
    from: STORED_RUN_PHASES[from],
    to: STORED_RUN_PHASES[to],
    actor,
    atMs: BigInt(tx.nowMs),
  };
  tx.update(row, {
    // What was tried before belongs to the step that has ended.
    ...(to === "approved" && { attempts: 0 }),
    ...change,
    phase: STORED_RUN_PHASES[to],
    updatedAtMs: BigInt(tx.nowMs),
    history: [...history, entry].slice(-HISTORY),
  });
  const { reason, reasonCode, epoch } = change;
  const event = {
    type: "phase-change",
    from,
    to,
    actor,
    ...(reason !== undefined && reason !== "" && { reason }),
    ...(reasonCode !== undefined && reasonCode !== "" && { reason_code: reasonCode }),
    // That of the stack's fence: one writer has it.
    ...(epoch !== undefined && { epoch: epoch.toString() }),
  };
  const events = [{ at: tx.nowMs, event }];
  if (isEnded(to)) {
    const end = { at: tx.nowMs, event: { type: "end", phase: to } };
    await appendEvents(tx, reference, [...events, end], { close: true });
  } else {
    await appendEvents(tx, reference, events);
  }
  await notify(tx, { reference, row, phase: to });
  return { reference, row, phase: to };
}

/** Tells the destinations of the project what a run came to. The run of a shadow is for the comparison alone. */
async function notify(tx: Transaction, { reference, row, phase }: RunAt<RunPhase>): Promise<void> {
  const event = EVENT_OF_PHASE[phase];
  const { id: run, number: runNumber, mode, reasonCode, shadowOf, actor } = row.message;
  if (event === undefined || shadowOf !== "") return;
  await noteEvent(tx, {
    event,
    stack: reference.stack,
    run,
    runNumber,
    phase,
    reasonCode,
    actor,
    mode: modeNameOf(mode) ?? "",
    planOnly: isSpeculative(row.message),
  });
}
