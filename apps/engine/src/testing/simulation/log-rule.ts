import type { Run } from "@stackwright/proto/stackwright";
import { ENDS, nameOf } from "./run-phases.ts";
import type { RunRecords } from "./run-records.ts";

/** The log of a run has no gap, tells each transition, and ends with the run: rule 7 of `RunModel`. */
export function checkLog(records: RunRecords, run: Run): void {
  const what = `the log of the run ${records.short(run.id)}`;
  const prefix = `${run.stack}.${run.id}`;
  const log = records.logs.rows.get(prefix);
  const events = [...records.segments.rows]
    .filter(([name]) => name.startsWith(`${prefix}.`))
    .toSorted(([, a], [, b]) => Number(a.first - b.first))
    .flatMap(([, { events: lines }]) => lines)
    .map((line) => JSON.parse(line) as { seq: number; type: string; to?: string });
  if (events.some(({ seq }, index) => seq !== index + 1)) records.fail(7, `${what} has a gap`);
  if (Number(log?.next ?? 1n) !== events.length + 1) records.fail(7, `${what} counts ${log?.next}`);
  const told = events.filter(({ type }) => type === "phase-change").map(({ to }) => to);
  const gone = run.history.map(({ to }) => nameOf(to));
  if (told.join() !== gone.join())
    records.fail(7, `${what} tells ${told.join()}, not ${gone.join()}`);
  const ends = events.filter(({ type }) => type === "end").length;
  const hasEnded = ENDS.has(run.phase);
  const isLast = events.at(-1)?.type === "end";
  if (ends !== (hasEnded ? 1 : 0) || isLast !== hasEnded || log?.closed !== hasEnded) {
    records.fail(7, `${what} has ${ends} ends, and the run is ${nameOf(run.phase)}`);
  }
}
