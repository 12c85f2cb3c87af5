import { isClientError } from "@stackwright/client";

/** The pause after a failure that passes by itself, such as a server that restarts. */
const AWAY_MS = 1_000;
/** The longest pause after refusals. */
const REFUSED_MS = 30_000;

/**
 * How long a worker waits before it asks for a step again that it did not get, in milliseconds. What a server refuses it refuses again, until somebody
 * installs another release or gives another token: so the pause doubles with each refusal in a row, up to half a minute.
 */
export function claimPauseMs(error: unknown, refusals: number): number {
  if (!isRefusal(error)) return AWAY_MS;
  return Math.min(REFUSED_MS, AWAY_MS * 2 ** Math.min(refusals, 10));
}

/** Whether a server has answered that it gives the worker no step, for a reason that does not pass with the load. */
export function isRefusal(error: unknown): boolean {
  if (!isClientError(error)) return false;
  const { status = 0 } = error;
  return status >= 400 && status < 500 && status !== 429;
}
