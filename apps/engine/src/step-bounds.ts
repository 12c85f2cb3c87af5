import { totalmem } from "node:os";
import { DEFAULT_STUCK_BOUNDS, type StuckBounds } from "./queue/stuck-steps.ts";
import type { StepLimits } from "./worker/step-deadline.ts";

/** Bounds of each step of a run, as they are configured. */
interface StepBounds {
  readonly planMinutes?: number | undefined;
  readonly shadowMinutes?: number | undefined;
  readonly applyMinutes?: number | undefined;
  readonly stopSeconds?: number | undefined;
  /** Of all processes of a step together. */
  readonly memoryMib?: number | undefined;
  /** Processor time of all processes of a step together. */
  readonly cpuMinutes?: number | undefined;
  readonly unclaimedMinutes?: number | undefined;
  readonly silentMinutes?: number | undefined;
}

/** How long steps may take. */
export function stepLimitsOf({
  planMinutes,
  shadowMinutes,
  applyMinutes,
  stopSeconds,
}: StepBounds = {}): StepLimits {
  return {
    planMs: planMinutes && planMinutes * 60_000,
    shadowMs: shadowMinutes && shadowMinutes * 60_000,
    applyMs: applyMinutes && applyMinutes * 60_000,
    stopMs: stopSeconds === undefined ? undefined : stopSeconds * 1_000,
  };
}

/** From when on steps count as stuck. */
export function stuckBoundsOf({ unclaimedMinutes, silentMinutes }: StepBounds = {}): StuckBounds {
  const { unclaimedMs, silentMs } = DEFAULT_STUCK_BOUNDS;
  return {
    unclaimedMs: unclaimedMinutes === undefined ? unclaimedMs : unclaimedMinutes * 60_000,
    silentMs: silentMinutes === undefined ? silentMs : silentMinutes * 60_000,
  };
}

/** Bytes of memory that the processes of a step have together: half of the machine's by default. */
export function memoryBoundOf({ memoryMib }: StepBounds = {}): number {
  return memoryMib === undefined ? Math.floor(totalmem() / 2) : memoryMib * 1024 * 1024;
}

/** Milliseconds of processor time that the processes of a step use together; without bound by default. */
export function processorBoundOf({ cpuMinutes }: StepBounds = {}): number | undefined {
  return cpuMinutes === undefined ? undefined : cpuMinutes * 60_000;
}
