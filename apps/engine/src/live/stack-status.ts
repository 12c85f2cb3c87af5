import type { RunPhase } from "@stackwright/core";
import { byKey, byKeys, type Collection, kind, type Runtime } from "@stackwright/krt";
import type { LockFact, OutputsFact, QueueFact, RunFact, StackFact } from "./stack-facts.ts";

/** The run of a status. */
interface StatusRun {
  readonly id: string;
  /** 0 for the run of a command. */
  readonly number: number;
  readonly phase: RunPhase | "unknown";
  readonly updatedAtMs: number;
}

/** What is known of a stack at a glance. */
export interface StackStatus {
  /** ACCOUNT/PROJECT/ULID */
  readonly key: string;
  readonly account: string;
  readonly project: string;
  readonly id: string;
  readonly name: string;
  /** The run that has the stack. */
  readonly current: StatusRun | undefined;
  /** Runs that wait for their turn. */
  readonly waiting: number;
  /** The newest run of all. */
  readonly newest: StatusRun | undefined;
  readonly lock: { readonly actor: string; readonly reason: string } | undefined;
  /** PROJECT/NAME of the stacks whose outputs are others than those the state was made with, sorted. */
  readonly outdated: readonly string[];
}

/** Collections that statuses are derived from. */
interface StatusInputs {
  readonly stacks: Collection<StackFact>;
  readonly queues: Collection<QueueFact>;
  readonly runs: Collection<RunFact>;
  readonly locks: Collection<LockFact>;
  readonly outputs: Collection<OutputsFact>;
}

/** One status for each stack, by key. */
export function deriveStackStatus(
  rt: Runtime,
  { stacks, queues, runs, locks, outputs }: StatusInputs,
): Collection<StackStatus> {
  const runsOfStack = rt.index(runs, (run) => run.stack);
  const newestRuns = rt.derive(
    runsOfStack.asCollection(),
    (_ctx, group) => ({ key: group.key, run: group.objects.reduce(newer) }),
    { name: "newest runs" },
  );
  // The records of stacks are found by name, everything else by id.
  const identified = rt.derive(
    stacks,
    (_ctx, stack) => ({ ...stack, key: `${stack.account}/${stack.project}/${stack.id}` }),
    { name: "stacks by id", kind: kind<StackFact>()({ key: ({ key }) => key }) },
  );
  const outdated = rt.derive(
    outputs,
    (ctx, { key, inputs }) => {
      const producers = new Map(
        ctx.fetch(outputs, byKeys(inputs.map((input) => input.key))).map((one) => [one.key, one]),
      );
      const later = inputs.filter(
        (input) => (producers.get(input.key)?.revision ?? input.revision) > input.revision,
      );
      const names = ctx
        .fetch(identified, byKeys(later.map((input) => input.key)))
        .map(({ project, name }) => `${project}/${name}`);
      return { key, stacks: [...new Set(names)].toSorted() };
    },
    { name: "outdated inputs" },
  );
  return rt.derive(
    identified,
    (ctx, { key, account, project, id, name }): StackStatus => {
      const queue = ctx.fetchOne(queues, byKey(key));
      const current = queue?.current
        ? ctx.fetchOne(runs, byKey(`${key}.${queue.current}`))
        : undefined;
      const newest = ctx.fetchOne(newestRuns, byKey(key))?.run;
      const lock = ctx.fetchOne(locks, byKey(key));
      return {
        key,
        account,
        project,
        id,
        name,
        current: current && runOf(current),
        waiting: queue?.pending.length ?? 0,
        newest: newest && runOf(newest),
        lock: lock && { actor: lock.actor, reason: lock.reason },
        outdated: ctx.fetchOne(outdated, byKey(key))?.stacks ?? [],
      };
    },
    { name: "stack status", kind: kind<StackStatus>()({ key: ({ key }) => key }) },
  );
}

function newer(a: RunFact, b: RunFact): RunFact {
  if (a.createdAtMs !== b.createdAtMs) return a.createdAtMs > b.createdAtMs ? a : b;
  return a.id > b.id ? a : b;
}

function runOf({ id, number, phase, updatedAtMs }: RunFact): StatusRun {
  return { id, number, phase, updatedAtMs };
}
