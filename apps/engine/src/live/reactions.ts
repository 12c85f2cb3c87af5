import { byKey, type Collection, kind, type Runtime } from "@stackwright/krt";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { DueTrigger } from "./due-triggers.ts";
import type { FollowedKind } from "./follow-kind.ts";
import type { ProviderReactionFact } from "./provider-reactions.ts";
import { type DriftFact, placeKey, type StackFact, type TriggerFact } from "./stack-facts.ts";

/** A run of a stack that is requested by no user: what it waits for, and what came of it last. */
export interface Reaction {
  readonly key: string;
  readonly account: string;
  readonly project: string;
  /** Of the trigger or the schedule; of a check for drift `drift-` and the stack, of changes of providers `providers-` and the stack. */
  readonly id: string;
  readonly stackName: string;
  /** What requests it. */
  readonly on: "outputs" | "time" | "drift" | "providers";
  /** PROJECT/STACK whose outputs are followed; otherwise empty. */
  readonly source: string;
  readonly paused: boolean;
  /** Outputs are others than those that were taken note of: a run is requested now, or the problem says why not. */
  readonly due: boolean;
  /** 0 where it does not go by time. */
  readonly nextAtMs: number;
  /** Empty before the first. */
  readonly lastRun: string;
  /** Why no run was requested, or why one found nothing out. */
  readonly problem: string;
}

interface ScheduleFact {
  readonly key: string;
  readonly account: string;
  readonly project: string;
  readonly id: string;
  readonly stackName: string;
  readonly paused: boolean;
  readonly nextAtMs: number;
  readonly lastRun: string;
  readonly problem: string;
}

export const SCHEDULES: FollowedKind<ScheduleFact> = {
  name: "schedules",
  type: SERVER_KINDS.schedule.type,
  kind: kind<ScheduleFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { id, stackName, paused, nextAtMs, lastRun, lastProblem } = decodeRecord(
      SERVER_KINDS.schedule,
      resource,
    );
    const { partition: account, namespace: project } = resource.id.tenancy;
    return {
      key: placeKey(resource.id),
      account,
      project,
      id,
      stackName,
      paused,
      nextAtMs: Number(nextAtMs),
      lastRun,
      problem: lastProblem,
    };
  },
};

interface ReactionInputs {
  /** By id. */
  readonly stacks: Collection<StackFact>;
  readonly triggers: Collection<TriggerFact>;
  readonly dueTriggers: Collection<DueTrigger>;
  readonly schedules: Collection<ScheduleFact>;
  readonly drifts: Collection<DriftFact>;
  readonly providerReactions: Collection<ProviderReactionFact>;
}

/** Triggers, schedules, checks for drift and reactions to providers of all stacks. */
export function deriveReactions(
  rt: Runtime,
  { stacks, triggers, dueTriggers, schedules, drifts, providerReactions }: ReactionInputs,
): Collection<Reaction> {
  const reaction = kind<Reaction>()({ key: ({ key }) => key });
  const ofTriggers = rt.derive(
    triggers,
    (ctx, trigger): Reaction | undefined => {
      const stack = ctx.fetchOne(stacks, byKey(trigger.consumer));
      // Of a stack that was deleted.
      if (stack === undefined) return undefined;
      const due = ctx.fetchOne(dueTriggers, byKey(trigger.key));
      const { account, project, name: stackName } = stack;
      const { id, source, paused, lastRun, problem } = trigger;
      return {
        key: `outputs ${trigger.key}`,
        account,
        project,
        id,
        stackName,
        on: "outputs",
        source,
        paused,
        due: due !== undefined,
        nextAtMs: 0,
        lastRun,
        problem,
      };
    },
    { name: "reactions to outputs", kind: reaction },
  );
  const ofSchedules = rt.derive(
    schedules,
    (_ctx, schedule): Reaction => ({
      ...schedule,
      key: `time ${schedule.key}`,
      on: "time",
      source: "",
      due: false,
    }),
    { name: "reactions to time", kind: reaction },
  );
  const ofDrift = rt.derive(
    drifts,
    (ctx, drift): Reaction | undefined => {
      const stack = ctx.fetchOne(stacks, byKey(drift.key));
      if (stack === undefined || (drift.nextAtMs === 0 && drift.check === "")) return undefined;
      const { account, project, name: stackName, id } = stack;
      const { nextAtMs, check, remedy, run, problem } = drift;
      return {
        key: `drift ${drift.key}`,
        account,
        project,
        id: `drift-${id}`,
        stackName,
        on: "drift",
        source: "",
        paused: false,
        due: false,
        nextAtMs,
        problem,
        lastRun: [check, remedy, run].find((one) => one !== "") ?? "",
      };
    },
    { name: "reactions to drift", kind: reaction },
  );
  const ofProviders = rt.derive(
    providerReactions,
    (ctx, { key, plans, lastRun, problem }): Reaction | undefined => {
      const stack = ctx.fetchOne(stacks, byKey(key));
      if (stack === undefined || !plans) return undefined;
      const { account, project, name: stackName, id } = stack;
      return {
        key: `providers ${key}`,
        account,
        project,
        id: `providers-${id}`,
        stackName,
        on: "providers",
        source: "",
        paused: false,
        due: false,
        nextAtMs: 0,
        problem,
        lastRun,
      };
    },
    { name: "reactions to provider changes", kind: reaction },
  );
  return rt.join([ofTriggers, ofSchedules, ofDrift, ofProviders], {
    name: "reactions",
    kind: reaction,
  });
}
