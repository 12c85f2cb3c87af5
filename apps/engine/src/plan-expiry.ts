import {
  DEFAULT_PLAN_RETENTION,
  expirePlans,
  type OpenStore,
  type PlanRetention,
} from "@stackwright/core";
import { isStorageError } from "@stackwright/storage";
import type { RunRetention } from "./retention/expire-runs.ts";
import type { ServerOptions } from "./server-options.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** How long a server keeps plans, by its options. */
export function planRetentionOf({ plans }: ServerOptions): PlanRetention {
  return {
    maxAgeMs: plans?.days === undefined ? DEFAULT_PLAN_RETENTION.maxAgeMs : plans.days * DAY_MS,
    perStack: plans?.perStack ?? DEFAULT_PLAN_RETENTION.perStack,
  };
}

/** How long a server keeps runs and their events, by its options. */
export function runRetentionOf({ runs }: ServerOptions): RunRetention {
  const ms = (days: number | undefined) => days && days * DAY_MS;
  return { perStack: runs?.perStack, maxAgeMs: ms(runs?.days), logAgeMs: ms(runs?.logDays) };
}

/** Removes the old plans of all stacks; returns their number: none where the store is on another server, which does it. */
export async function expireOldPlans(
  { storage }: Pick<OpenStore, "storage">,
  retention: PlanRetention,
  nowMs: number,
  signal: AbortSignal,
): Promise<number> {
  try {
    return await expirePlans({ storage, nowMs, retention, signal });
  } catch (error) {
    if (isStorageError(error, "STORAGE_UNSUPPORTED", "STORAGE_PERMISSION_DENIED")) return 0;
    throw error;
  }
}
