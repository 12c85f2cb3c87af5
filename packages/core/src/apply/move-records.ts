import type { Plan } from "../plan/plan.ts";
import type { StateWriter } from "../state/stack-state.ts";
import { isPlaceholder } from "../state/state-object.ts";

/**
 * Gives recorded objects the addresses that the plan knows them by, deposed ones with them. Before anything else, so that
 * every later step finds its object. An address that something else still has is waited for: moves are made in the order in
 * which their targets become free.
 */
export async function applyMoveRecords(writer: StateWriter, plan: Plan): Promise<void> {
  const moves = new Map((plan.moves ?? []).map(({ from, to }) => [from, to] as const));
  for (const { previousAddress, address } of plan.changes) {
    if (previousAddress !== undefined) moves.set(previousAddress, address);
  }
  while (moves.size > 0) {
    const free = [...moves].filter(([from, to]) => {
      const present = writer.object(to);
      return from === to || !moves.has(to) || present === undefined || isPlaceholder(present);
    });
    // A cycle of moves cannot be distinguished from no move at all; it was refused when the plan was created.
    if (free.length === 0) return;
    for (const [from, to] of free) {
      moves.delete(from);
      for (const { deposed } of writer.deposed(from)) {
        await writer.write({
          kind: "move",
          from: { address: from, deposed },
          to: { address: to, deposed },
        });
      }
      // After an interruption some have moved already.
      if (writer.object(from) === undefined) continue;
      await writer.write({
        kind: "move",
        from: { address: from, deposed: "" },
        to: { address: to, deposed: "" },
      });
    }
  }
}
