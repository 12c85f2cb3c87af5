/** An event of a run as readers see it. */
interface ObservedEvent {
  readonly seq: number;
  readonly at?: number | undefined;
  readonly type: string;
  readonly [member: string]: unknown;
}

/** A run with all of its events. */
export interface ObservedRun {
  readonly id: string;
  readonly stack: string;
  readonly number: number;
  readonly phase: string;
  readonly events: readonly ObservedEvent[];
}

/**
 * What in the logs of runs cannot be, in words: a run without an end, a gap in its events, a phase that does not follow the one before,
 * two writers of one stack and epoch, an epoch that is not higher than those before, a run that began before the one before it ended.
 * Runs of one stack are those of one queue.
 */
export function checkRunHistory(runs: readonly ObservedRun[]): readonly string[] {
  const stacks = Object.groupBy(runs, ({ stack }) => stack);
  return [
    ...runs.flatMap(checkLog),
    ...Object.values(stacks).flatMap((own = []) => {
      const inOrder = own.toSorted((a, b) => a.number - b.number);
      return [...checkEpochs(inOrder), ...checkOrder(inOrder)];
    }),
  ];
}

function checkLog({ id, phase, events }: ObservedRun): string[] {
  const found: string[] = [];
  const gap = events.find(({ seq }, index) => seq !== index + 1);
  if (gap !== undefined) found.push(`run ${id}: its events have a gap before ${gap.seq}`);
  const end = events.at(-1);
  if (end?.type !== "end" || end["phase"] !== phase) found.push(`run ${id}: has no end`);
  let current: unknown = "";
  for (const { type, from, to } of events) {
    if (type !== "phase-change") continue;
    if ((from ?? "") !== current) {
      found.push(`run ${id}: ${String(to)} does not follow ${String(current)}`);
    }
    current = to;
  }
  return found;
}

function checkEpochs(runs: readonly ObservedRun[]): string[] {
  const found: string[] = [];
  const writers = new Map<string, string>();
  let newest = 0n;
  for (const { id, events } of runs) {
    for (const { epoch, actor } of events) {
      if (typeof epoch !== "string") continue;
      const writer = `${id} by ${String(actor)}`;
      const other = writers.get(epoch);
      if (other !== undefined && other !== writer) {
        found.push(`epoch ${epoch}: has two writers, ${other} and ${writer}`);
      }
      if (other === undefined && BigInt(epoch) <= newest) {
        found.push(`epoch ${epoch}: of ${writer} is not above ${newest}`);
      }
      writers.set(epoch, writer);
      if (BigInt(epoch) > newest) newest = BigInt(epoch);
    }
  }
  return found;
}

function checkOrder(runs: readonly ObservedRun[]): string[] {
  const found: string[] = [];
  let endedAt = Number.NEGATIVE_INFINITY;
  let before = "";
  for (const { id, events } of runs) {
    const began = events.find(({ to }) => to === "preparing")?.at;
    if (began !== undefined && began < endedAt) {
      found.push(`run ${id}: began before run ${before} ended`);
    }
    endedAt = Math.max(endedAt, events.at(-1)?.at ?? endedAt);
    before = id;
  }
  return found;
}
