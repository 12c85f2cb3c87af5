import { StorageError } from "../errors.ts";

/**
 * How much history an engine keeps for watches that resume. What is beyond one of the bounds is forgotten. The bounds belong to the store
 * where it is kept: an instance that is given some sets all of them, and one that is given none takes those that are set.
 */
export interface HistoryOptions {
  /** Most retained commits. */
  readonly events?: number;
  /** Most bytes of retained commits. */
  readonly bytes?: number;
  /** Longest age of retained commits, in milliseconds; at least a second. @default unlimited */
  readonly maxAgeMs?: number | undefined;
}

/** {@link HistoryOptions} with all defaults in place. */
export interface ResolvedHistory {
  readonly events: number;
  readonly bytes: number;
  readonly maxAgeMs: number | undefined;
}

/** How much history there is. */
export interface HistorySize {
  readonly events: number;
  /** Of their bodies. */
  readonly bytes: number;
  /** When the oldest of them was committed, in milliseconds since 1970; absent when there is none. */
  readonly oldestMs?: number;
}

/** Whether two bounds are the same. */
export function isSameHistory(left: ResolvedHistory, right: ResolvedHistory): boolean {
  return (
    left.events === right.events && left.bytes === right.bytes && left.maxAgeMs === right.maxAgeMs
  );
}

const DEFAULT_BYTES = 64 * 1024 * 1024;

/** Below this, commits would be forgotten while their watches still connect. */
const LEAST_AGE_MS = 1_000;

/** How often the age of the history is looked at, at least and at most. */
const LEAST_CHECK_MS = 250;
const MOST_CHECK_MS = 300_000;

/** Fills in defaults; `STORAGE_INVALID_ARGUMENT` for a bound that is none. */
export function resolveHistory(
  options: Partial<ResolvedHistory> = {},
  events = 16_384,
): ResolvedHistory {
  const resolved = {
    events: options.events ?? events,
    bytes: options.bytes ?? DEFAULT_BYTES,
    maxAgeMs: options.maxAgeMs,
  };
  checkBound("events", resolved.events, 0);
  checkBound("bytes", resolved.bytes, 0);
  if (resolved.maxAgeMs !== undefined) checkBound("maxAgeMs", resolved.maxAgeMs, LEAST_AGE_MS);
  return resolved;
}

/** How often a history with a longest age is looked at: what is too old stays for an eighth of the age more at most. */
export function ageCheckMs(maxAgeMs: number): number {
  return Math.min(MOST_CHECK_MS, Math.max(LEAST_CHECK_MS, Math.ceil(maxAgeMs / 8)));
}

function checkBound(field: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new StorageError(
    "STORAGE_INVALID_ARGUMENT",
    `history.${field} is a whole number of at least ${least}, not ${value}`,
    { details: { field: `history.${field}` } },
  );
}
