import type { Plan } from "../plan/plan.ts";
import type { StateWriter } from "../state/stack-state.ts";
import { isPlaceholder } from "../state/state-object.ts";
import { deposedByRun } from "./deposed-object.ts";
import type { Step } from "./order.ts";

/**
 * Whether an earlier part of this run has done a step. Objects carry the revision during which they were last written,
 * and a run has its own revision, so the objects that the run wrote are recognizable. Only asked after an interruption.
 */
export function isStepComplete(plan: Plan, writer: StateWriter, { kind, change }: Step): boolean {
  if (!writer.resumed) return false;
  const current = writer.object(change.address, change.deposed);
  if (kind === "remove") {
    if (change.action !== "replace") return current === undefined;
    if (change.order === "create-first")
      return deposedByRun(plan, writer, change) === undefined && isOurs(writer, change);
    return current === undefined || isPlaceholder(current) || isOurs(writer, change);
  }
  if (change.action === "no-op" || change.action === "read") return false;
  return isOurs(writer, change);
}

function isOurs(writer: StateWriter, { address }: Step["change"]): boolean {
  const object = writer.object(address);
  if (object === undefined || object.revision !== writer.head.revision) return false;
  return object.phase === "ready" || object.phase === "tainted";
}
