import type { Clock } from "@stackwright/base/clock";
import type { StorageBackend } from "@stackwright/storage";
import type { StuckBounds } from "../queue/stuck-steps.ts";
import type { AccountRecords } from "./account-records.ts";

/** What is examined, and when. */
export interface DoctorParts {
  readonly storage: StorageBackend;
  readonly clock: Clock;
  readonly account: string;
  readonly records: AccountRecords;
  /** The name of a stack, by its project and id. */
  readonly nameOf: (project: string, stack: string) => string;
  readonly nowMs: number;
  readonly stuck: StuckBounds;
  readonly signal: AbortSignal;
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
