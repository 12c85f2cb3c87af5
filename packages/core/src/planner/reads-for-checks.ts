import type { ResourceChange } from "../plan/change.ts";
import { hasChanges, type Plan } from "../plan/plan.ts";
import { checkOfData } from "../walk/check-data.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";

/**
 * The changes of a plan, in which the data sources of checks that were read for it are read once more: a check is about what the apply
 * did. A plan that does nothing stays one, as what it read says all that another read would.
 */
export function withReadsForChecks(
  plan: Pick<Plan, "mode" | "changes" | "outputs" | "drift" | "moves">,
  bySlot: ReadonlyMap<InstanceSlot, ResourceChange>,
): readonly ResourceChange[] {
  if (plan.mode !== "normal" || !hasChanges(plan)) return plan.changes;
  const ofChecks = new Set<ResourceChange>();
  for (const [slot, change] of bySlot) {
    const isRead = change.mode === "data" && change.action === "no-op";
    if (isRead && checkOfData(slot) !== undefined) ofChecks.add(change);
  }
  return plan.changes.map((change) => (ofChecks.has(change) ? readAgain(change) : change));
}

function readAgain({ before: _before, ...change }: ResourceChange): ResourceChange {
  return { ...change, action: "read", reason: "read-because-check-nested", record: false };
}
