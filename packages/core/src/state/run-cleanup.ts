import type { CallOptions } from "@stackwright/storage";
import { isEngineError } from "../errors.ts";
import { isEnded, type Run, type RunPatch, type RunPhase, type Runs } from "./runs.ts";
import type { StackHead } from "./stack-state.ts";

interface RunCleanup {
  /** Of the holder of the stack: who was applying under a lower one is gone. */
  readonly epoch: bigint;
  /** The state after what the holder did; open while it, or who was interrupted, still has to finish. */
  readonly head: StackHead;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

const UNPLANNED: ReadonlySet<RunPhase> = new Set(["queued", "preparing", "planning"]);
const WAITING: ReadonlySet<RunPhase> = new Set([
  "planned",
  "awaiting_approval",
  "approved",
  "policy_failed",
]);

/** Ended runs that are kept, the newest ones. */
const MAX_ENDED_RUNS = 200;
/** Longer than any plan takes. A run that still plans is ended; its planner learns so when the plan is complete. */
const STALLED_MS = 24 * 60 * 60 * 1000;

/**
 * Ends the runs of a stack that have no active worker and those whose plan is of an earlier state, and removes the
 * oldest of the ended ones. To be called under the fence. A run that another worker moves meanwhile is left to that
 * worker.
 */
export async function cleanUpRuns(
  runs: Runs,
  { epoch, head, nowMs }: RunCleanup,
  options?: CallOptions,
): Promise<void> {
  // A server keeps a queue and logs for its runs, and ends and removes them with these.
  const all = (await runs.list(options)).filter(({ ofServer }) => ofServer !== true);
  const move = async (run: Run, to: RunPhase, patch: RunPatch): Promise<void> => {
    await unlessMoved(async () => runs.transition(run.id, run.phase, to, patch, options));
  };
  for (const run of all) {
    const { id, phase, baseRevision, epoch: worker = 0n } = run;
    if (UNPLANNED.has(phase) && nowMs - run.updatedAtMs > STALLED_MS) {
      await move(run, "canceled", { reason: "the run has no active worker" });
    }
    if (WAITING.has(phase) && baseRevision !== undefined && baseRevision < head.revision) {
      const reason = `its plan is of revision ${baseRevision}, the state is at ${head.revision}`;
      await move(run, "superseded", { reason });
    }
    // The run that the head names is ended by its recovery, which knows what became of it.
    if (phase === "applying" && worker < epoch && id !== head.run) {
      await move(run, "failed", { reason: "its worker was gone before it could say how it ended" });
    }
  }
  const ended = all.filter(({ phase }) => isEnded(phase));
  for (const { id } of ended.slice(0, Math.max(0, ended.length - MAX_ENDED_RUNS))) {
    await unlessMoved(async () => runs.remove(id, options));
  }
}

async function unlessMoved(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isEngineError(error, "ENGINE_STATE_TRANSITION")) throw error;
  }
}
