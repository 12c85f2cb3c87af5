import type { RunTicket } from "@stackwright/proto/stackwright";

const MINUTE_MS = 60_000;

/** From when on a step counts as stuck. */
export interface StuckBounds {
  /** How long it waits for a worker that could take it. */
  readonly unclaimedMs: number;
  /** How long nothing is heard of a step that a worker has. */
  readonly silentMs: number;
}

export const DEFAULT_STUCK_BOUNDS: StuckBounds = Object.freeze({
  unclaimedMs: 5 * MINUTE_MS,
  silentMs: 30 * MINUTE_MS,
});

/** Why a step is stuck, and since when. */
export interface StuckStep {
  readonly why: "unclaimed" | "silent";
  readonly sinceMs: number;
}

/** That a server noted a step as stuck: why, and when, in milliseconds since 1970. */
export interface NotedStuck {
  readonly why: StuckStep["why"];
  readonly notedAtMs: number;
}

/** What a server noted of a step; undefined where it is not stuck, as far as is known. */
export function notedAsStuck({ claim, stuckNotedAtMs }: RunTicket): NotedStuck | undefined {
  if (stuckNotedAtMs === 0n) return undefined;
  return { why: claim === undefined ? "unclaimed" : "silent", notedAtMs: Number(stuckNotedAtMs) };
}

/**
 * Whether a step is stuck that no lock or freeze holds up.
 *
 * @param writtenAtMs when events of the run were stored last
 */
export function stuckStep(
  { claim, createdAtMs, freeSinceMs }: RunTicket,
  writtenAtMs: bigint,
  nowMs: number,
  { unclaimedMs, silentMs }: StuckBounds,
): StuckStep | undefined {
  if (claim === undefined) {
    const sinceMs = Number(freeSinceMs === 0n ? createdAtMs : freeSinceMs);
    return nowMs - sinceMs < unclaimedMs ? undefined : { why: "unclaimed", sinceMs };
  }
  const sinceMs = Math.max(Number(claim.sinceMs), Number(writtenAtMs));
  return nowMs - sinceMs < silentMs ? undefined : { why: "silent", sinceMs };
}
