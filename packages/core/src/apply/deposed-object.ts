import type { ResourceChange } from "../plan/change.ts";
import type { Plan } from "../plan/plan.ts";
import type { StateWriter } from "../state/stack-state.ts";
import type { StateObject } from "../state/state-object.ts";

/**
 * The object that made place for its replacement in this run. Others of the address were deposed by earlier runs, and could
 * not be deleted then: those that this run writes at all have changes of their own in the plan.
 */
export function deposedByRun(
  { changes }: Plan,
  writer: StateWriter,
  { address }: ResourceChange,
): StateObject | undefined {
  const written = writer
    .deposed(address)
    .filter(({ revision }) => revision === writer.head.revision);
  if (written.length < 2 && !writer.resumed) return written[0];
  const planned = new Set(
    changes.flatMap((change) => (change.address === address ? change.deposed : [])),
  );
  return written.find(({ deposed }) => !planned.has(deposed));
}
