import { STORED_RUN_PHASES } from "@stackwright/core";
import type { Run, RunTicket } from "@stackwright/proto/stackwright";

/** The reason code of a run in `applying` whose recovery waits for something that users end. */
export const RECOVERY_BLOCKED = "recovery_blocked";

/** How long a recovery that waits is not tried again. */
const RECOVERY_PAUSE_MS = 30_000;

/** Whether the recovery of a run waits, as far as is known. */
export function isBlockedRecovery({
  phase,
  reasonCode,
}: Pick<Run, "phase" | "reasonCode">): boolean {
  return phase === STORED_RUN_PHASES.applying && reasonCode === RECOVERY_BLOCKED;
}

/** Whether a recovery that waits was tried just now. */
export function isPaused(
  run: Pick<Run, "phase" | "reasonCode">,
  { freeSinceMs }: Pick<RunTicket, "freeSinceMs">,
  nowMs: number,
): boolean {
  return isBlockedRecovery(run) && nowMs - Number(freeSinceMs) < RECOVERY_PAUSE_MS;
}
