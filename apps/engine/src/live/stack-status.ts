import type { RunPhase } from "@stackwright/core";
import {
  byKey,
  byKeys,
  type Collection,
  kind,
  type OutputOf,
  type Runtime,
} from "@stackwright/krt";
import { DRIFT_CHECK } from "../domain/drift-rule.ts";
import { ticketPlace } from "../domain/run-places.ts";
import { freezePlace } from "../queue/freeze.ts";
import type { NotedStuck } from "../queue/stuck-steps.ts";
import { byAge } from "./recent-runs.ts";
import {
  type DriftFact,
  type FreezeFact,
  type LockFact,
  type OutputsFact,
  placeKey,
  type QueueFact,
  type RunFact,
  type StackFact,
  type StuckFact,
} from "./stack-facts.ts";

/** Stacks further up that a status names. */
const MAX_BEHIND = 20;

/** The run of a status. */
interface StatusRun {
  readonly id: string;
  /** 0 for the run of a command. */
  readonly number: number;
  readonly phase: RunPhase | "unknown";
  readonly updatedAtMs: number;
  /** Why its step is stuck; undefined where it is not. */
  readonly stuck?: NotedStuck["why"];
}

/** The drift of a status. */
export type StackDriftStatus = Omit<DriftFact, "key" | "check">;

/** What keeps the plans of a stack from being applied. It may have ended by itself since. */
interface StackFreezeStatus extends Omit<FreezeFact, "key"> {
  /** Whether it is that of the project. */
  readonly ofProject: boolean;
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
  /** That of the project where both are frozen. */
  readonly freeze: StackFreezeStatus | undefined;
  /** What the last check for drift found; undefined before the first one. */
  readonly drift: StackDriftStatus | undefined;
  /** PROJECT/NAME of the stacks whose outputs are others than those the state was made with, sorted. */
  readonly outdated: readonly string[];
  /** PROJECT/NAME of the stacks whose outputs it was made with, sorted. */
  readonly reads: readonly string[];
  /**
   * PROJECT/NAME of stacks further up that are outdated themselves, sorted, at most 20: what it was made with may be others when
   * they are applied. Not known where stacks read one another in a circle.
   */
  readonly behind: readonly string[];
}

/** What a stack was made with. */
interface InputStatus {
  readonly key: string;
  /** PROJECT/NAME of those whose outputs are others now, sorted. */
  readonly outdated: readonly string[];
  /** PROJECT/NAME of all, sorted. */
  readonly reads: readonly string[];
  /** Keys of all. */
  readonly producers: readonly string[];
}

interface Behind {
  readonly key: string;
  readonly stacks: readonly string[];
}

/** Collections that statuses are derived from. */
interface StatusInputs {
  /** By id. */
  readonly stacks: Collection<StackFact>;
  /** By key of the stack. */
  readonly runsOfStack: Collection<{ readonly key: string; readonly objects: readonly RunFact[] }>;
  readonly queues: Collection<QueueFact>;
  readonly runs: Collection<RunFact>;
  readonly stuckSteps: Collection<StuckFact>;
  readonly locks: Collection<LockFact>;
  readonly freezes: Collection<FreezeFact>;
  readonly drifts: Collection<DriftFact>;
  readonly outputs: Collection<OutputsFact>;
}

/** The stacks by key: their records are found by name, everything else by id. */
export function deriveStacksById(rt: Runtime, named: Collection<StackFact>): Collection<StackFact> {
  return rt.derive(
    named,
    (_ctx, stack) => ({ ...stack, key: `${stack.account}/${stack.project}/${stack.id}` }),
    { name: "stacks by id", kind: kind<StackFact>()({ key: ({ key }) => key }) },
  );
}

/** One status for each stack, by key. */
export function deriveStackStatus(
  rt: Runtime,
  { stacks, runsOfStack, queues, runs, stuckSteps, locks, freezes, drifts, outputs }: StatusInputs,
): Collection<StackStatus> {
  const newestRuns = rt.derive(
    runsOfStack,
    (_ctx, group) => ({
      key: group.key,
      run: newestOf(group.objects),
    }),
    { name: "newest runs" },
  );
  const inputsOf = rt.derive(
    outputs,
    (ctx, { key, inputs }): InputStatus => {
      const producers = new Map(
        ctx.fetch(outputs, byKeys(inputs.map((input) => input.key))).map((one) => [one.key, one]),
      );
      const namesOf = (some: typeof inputs): readonly string[] => {
        const found = ctx.fetch(stacks, byKeys(some.map((input) => input.key)));
        return [...new Set(found.map(({ project, name }) => `${project}/${name}`))].toSorted();
      };
      const later = inputs.filter(
        (input) => (producers.get(input.key)?.revision ?? input.revision) > input.revision,
      );
      return {
        key,
        outdated: namesOf(later),
        reads: namesOf(inputs),
        producers: [...new Set(inputs.map((input) => input.key))],
      };
    },
    { name: "outdated inputs" },
  );
  const behind = deriveBehind(rt, { stacks, inputsOf });
  return rt.derive(
    stacks,
    (ctx, { key, account, project, id, name }): StackStatus => {
      const queue = ctx.fetchOne(queues, byKey(key));
      const current = queue?.current
        ? ctx.fetchOne(runs, byKey(`${key}.${queue.current}`))
        : undefined;
      const stuck =
        current && ctx.fetchOne(stuckSteps, byKey(ticketKey(account, project, current.id)))?.why;
      const newest = ctx.fetchOne(newestRuns, byKey(key))?.run;
      const lock = ctx.fetchOne(locks, byKey(key));
      const ofProject = ctx.fetchOne(freezes, byKey(freezeKey(account, project)));
      const freeze = ofProject ?? ctx.fetchOne(freezes, byKey(key));
      const inputs = ctx.fetchOne(inputsOf, byKey(key));
      return {
        key,
        account,
        project,
        id,
        name,
        current: current && { ...runOf(current), ...(stuck !== undefined && { stuck }) },
        waiting: queue?.pending.length ?? 0,
        newest: newest && runOf(newest),
        lock: lock && { actor: lock.actor, reason: lock.reason },
        freeze: freeze && {
          actor: freeze.actor,
          reason: freeze.reason,
          atMs: freeze.atMs,
          untilMs: freeze.untilMs,
          ofProject: ofProject !== undefined,
        },
        drift: driftOf(ctx.fetchOne(drifts, byKey(key))),
        outdated: inputs?.outdated ?? [],
        reads: inputs?.reads ?? [],
        behind: ctx.fetchOne(behind, byKey(key))?.stacks ?? [],
      };
    },
    { name: "stack status", kind: kind<StackStatus>()({ key: ({ key }) => key }) },
  );
}

/** Of the stacks that have any: which stacks further up are outdated themselves. */
function deriveBehind(
  rt: Runtime,
  {
    stacks,
    inputsOf,
  }: { readonly stacks: Collection<StackFact>; readonly inputsOf: Collection<InputStatus> },
): Collection<Behind> {
  return rt.deriveRecursive(
    inputsOf,
    (ctx, { key, producers }, outputOf: OutputOf<Behind>): Behind | undefined => {
      const found = new Set<string>();
      for (const producer of producers) {
        // One that reads its own outputs is behind nothing by that.
        if (producer === key) continue;
        const isOutdated = (ctx.fetchOne(inputsOf, byKey(producer))?.outdated.length ?? 0) > 0;
        const stack = isOutdated ? ctx.fetchOne(stacks, byKey(producer)) : undefined;
        if (stack !== undefined) found.add(`${stack.project}/${stack.name}`);
        for (const one of outputOf(producer)?.stacks ?? []) found.add(one);
      }
      if (found.size === 0) return undefined;
      return { key, stacks: [...found].toSorted().slice(0, MAX_BEHIND) };
    },
    { name: "stacks behind others", kind: kind<Behind>()({ key: ({ key }) => key }) },
  );
}

/** Where the step of a run in the queue is. */
function ticketKey(account: string, project: string, run: string): string {
  return placeKey(ticketPlace({ stack: { account, project, stack: "" }, run }));
}

/** Where the freeze of a whole project is. */
function freezeKey(account: string, project: string): string {
  return placeKey(freezePlace({ account, project }));
}

/** The newest run; one that looks for drift counts where there is no other. */
function newestOf(runs: readonly RunFact[]): RunFact {
  const others = runs.filter(({ cause }) => !cause.startsWith(DRIFT_CHECK));
  return (others.length === 0 ? runs : others).reduce((a, b) => (byAge(a, b) < 0 ? a : b));
}

function driftOf(fact: DriftFact | undefined): StackDriftStatus | undefined {
  if (fact === undefined || (fact.checkedAtMs === 0 && fact.problem === "")) return undefined;
  const { key: _key, check: _check, ...status } = fact;
  return status;
}

function runOf({ id, number, phase, updatedAtMs }: RunFact): StatusRun {
  return { id, number, phase, updatedAtMs };
}
