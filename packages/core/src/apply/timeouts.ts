import type { StepAction } from "../events.ts";
import type { ResourceChange } from "../plan/change.ts";
import { resourceOf } from "../state/check-state.ts";

/** Longest time of one call, in milliseconds, by what it does. Absent: as long as it takes. */
export interface CallTimeouts {
  readonly create?: number;
  readonly update?: number;
  readonly delete?: number;
  readonly read?: number;
}

/** Longest times of calls: for all, and for those that are named. */
export interface ApplyTimeouts extends CallTimeouts {
  /**
   * For an instance (`a.b["c"]`), all instances of a resource (`a.b`), or a type (`type:NAME`). The narrowest one that says
   * something about a call counts.
   */
  readonly of?: Readonly<Record<string, CallTimeouts>>;
}

/** How long a call may take; undefined: as long as it takes. */
export function timeoutOf(
  timeouts: ApplyTimeouts,
  { address, type }: Pick<ResourceChange, "address" | "type">,
  action: StepAction,
): number | undefined {
  if (action !== "create" && action !== "update" && action !== "delete" && action !== "read") {
    return undefined;
  }
  const { of = {} } = timeouts;
  for (const name of [address, resourceOf(address), `type:${type}`]) {
    const limit = Object.hasOwn(of, name) ? of[name]?.[action] : undefined;
    if (limit !== undefined) return limit;
  }
  return timeouts[action];
}
