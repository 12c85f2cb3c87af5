import { modeNameOf } from "../domain/run-modes.ts";
import { noteEvent } from "./note-event.ts";
import { isSpeculative, type readRun } from "./run-row.ts";
import type { Transaction } from "./transaction.ts";

/** Notes for destinations that nothing happens with a run, and why. */
export async function noteStuckRun(
  tx: Transaction,
  { row, reference, phase }: Awaited<ReturnType<typeof readRun>>,
  reasonCode: string,
): Promise<void> {
  const run = row.message;
  await noteEvent(tx, {
    event: "run.stuck",
    stack: reference.stack,
    run: run.id,
    runNumber: run.number,
    phase,
    reasonCode,
    actor: run.actor,
    mode: modeNameOf(run.mode) ?? "",
    planOnly: isSpeculative(run),
  });
}
