import { formatAddress, parseAddress } from "@stackwright/lang";
import { type DeferredPart, type Plan } from "./plan.ts";

/** Stages that follow one another, at most. */
export const MAX_STAGES = 20;

/**
 * Why no further stage leads on, as the end of a sentence; undefined where this stage may be applied and another one may follow.
 *
 * What an apply gives is known in the next stage. Where that still leaves all that the last one left, their values come from no apply:
 * of an excluded object, or of one that changes each time.
 *
 * @param last addresses of what the stage before it left, empty for the first one
 */
export function stuckBecause({
  stage,
  last,
  left,
  hasChanges,
}: {
  /** Number of the stage, from 1. */
  readonly stage: number;
  readonly last: readonly string[];
  readonly left: readonly DeferredPart[];
  readonly hasChanges: boolean;
}): string | undefined {
  if (left.length === 0) return undefined;
  if (!hasChanges) return `stage ${stage} changes nothing`;
  const addresses = new Set(left.map(({ address }) => address));
  if (last.length > 0 && last.every((address) => addresses.has(address))) {
    return `stage ${stage} leaves all that the one before left`;
  }
  return stage >= MAX_STAGES ? `stages are limited to ${MAX_STAGES}` : undefined;
}

/** Most addresses that an advice has. */
const MAX_ADVISED = 8;

/** What the user can do where stages are stuck; see {@link stuckBecause}. */
export function stuckAdvice(left: readonly DeferredPart[]): string {
  const needed = [...new Set(left.flatMap(({ neededBy = [] }) => neededBy))].toSorted();
  if (needed.length === 0) {
    return "See what they depend on: a value that no apply gives, such as one of an excluded object or of one that changes each time.";
  }
  const replaced = left.flatMap(({ address, neededBy }) =>
    neededBy === undefined ? [] : [address],
  );
  const targets = needed.slice(0, MAX_ADVISED).map((address) => `-target='${address}'`);
  const more =
    needed.length > targets.length ? ` (and ${needed.length - targets.length} more)` : "";
  return `Their values are known once ${replaced.join(", ")} is replaced, and that is still needed by objects that are left. Destroy these first, if they may be made again, and then start again:\n  stackwright destroy ${targets.join(" ")}${more}`;
}

/** Requests for replacements that a plan does not carry out, as their objects are left to a later stage. */
export function replacementsLeft({
  options,
  changes,
}: Pick<Plan, "options" | "changes">): readonly string[] {
  const planned = new Set(changes.map(({ address }) => address));
  return options.replace.filter((text) => {
    const { value } = parseAddress(text);
    return value === undefined || !planned.has(formatAddress(value));
  });
}
