import { isEnded } from "@stackwright/core";
import { byKey, byKeys, type Collection, kind, type Runtime } from "@stackwright/krt";
import type { QueueFact, RunFact, StackFact } from "./stack-facts.ts";

/** Runs of a stack that have ended and are still among the recent ones. */
const ENDED_KEPT = 20;

/** A run with the name of its stack. */
export interface NamedRun extends RunFact {
  readonly stackName: string;
}

/** A run in the queue of its stack. */
export interface QueuedRun {
  /** That of the run. */
  readonly key: string;
  readonly account: string;
  readonly project: string;
  /** Key of the stack. */
  readonly stack: string;
  readonly stackName: string;
  readonly id: string;
  readonly number: number;
  /** 0: it has the stack. Otherwise its place among those that wait. */
  readonly position: number;
  readonly phase: RunFact["phase"];
  readonly createdAtMs: number;
}

interface RunInputs {
  /** By id. */
  readonly stacks: Collection<StackFact>;
  readonly runs: Collection<RunFact>;
  readonly runsOfStack: Collection<{ readonly key: string; readonly objects: readonly RunFact[] }>;
  readonly queues: Collection<QueueFact>;
}

/** The runs that have not ended, and of each stack the newest ones that have. */
export function deriveRecentRuns(
  rt: Runtime,
  { stacks, runsOfStack }: Pick<RunInputs, "stacks" | "runsOfStack">,
): Collection<NamedRun> {
  return rt.deriveMany(
    runsOfStack,
    (ctx, group): readonly NamedRun[] => {
      const stack = ctx.fetchOne(stacks, byKey(group.key));
      if (stack === undefined) return [];
      const open: RunFact[] = [];
      const ended: RunFact[] = [];
      for (const run of group.objects) {
        (run.phase !== "unknown" && isEnded(run.phase) ? ended : open).push(run);
      }
      ended.sort(byAge);
      return [...open, ...ended.slice(0, ENDED_KEPT)].map((run) => ({
        ...run,
        stackName: stack.name,
      }));
    },
    { name: "recent runs", kind: kind<NamedRun>()({ key: ({ key }) => key }) },
  );
}

/** The runs that have a stack or wait for it, with their places. */
export function deriveQueue(
  rt: Runtime,
  { stacks, runs, queues }: Pick<RunInputs, "stacks" | "runs" | "queues">,
): Collection<QueuedRun> {
  return rt.deriveMany(
    queues,
    (ctx, { key: at, current, pending }): readonly QueuedRun[] => {
      const ids = [current, ...pending];
      const keys = ids.filter((id) => id !== "").map((id) => `${at}.${id}`);
      const stack = keys.length === 0 ? undefined : ctx.fetchOne(stacks, byKey(at));
      if (stack === undefined) return [];
      const found = new Map(ctx.fetch(runs, byKeys(keys)).map((run) => [run.id, run]));
      return ids.flatMap((id, position): readonly QueuedRun[] => {
        const run = found.get(id);
        if (run === undefined || ids.indexOf(id) !== position) return [];
        const { key, account, project, number, phase, createdAtMs } = run;
        const place = { key, account, project, stack: at, stackName: stack.name };
        return [{ ...place, id, number, position, phase, createdAtMs }];
      });
    },
    { name: "queue", kind: kind<QueuedRun>()({ key: ({ key }) => key }) },
  );
}

/** The newest first, and of one time that with the later id. */
export function byAge(a: RunFact, b: RunFact): number {
  if (a.createdAtMs !== b.createdAtMs) return b.createdAtMs - a.createdAtMs;
  return a.id > b.id ? -1 : 1;
}
