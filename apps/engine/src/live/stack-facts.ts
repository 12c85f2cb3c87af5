import { type RunPhase, storedRunPhase } from "@stackwright/core";
import { kind } from "@stackwright/krt";
import type { Run_Mode } from "@stackwright/proto/stackwright";
import type { ResourceId, Tenancy } from "@stackwright/storage";
import { nextOfAll } from "../domain/drift-rule.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, STACK_KIND, STACK_OUTPUTS_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type NotedStuck, notedAsStuck } from "../queue/stuck-steps.ts";
import type { FollowedKind } from "./follow-kind.ts";

// What the live view keeps of the records of the store. The key of a stack is ACCOUNT/PROJECT/ULID.

export interface StackFact {
  readonly key: string;
  readonly account: string;
  readonly project: string;
  readonly id: string;
  readonly name: string;
}

export interface QueueFact {
  readonly key: string;
  readonly current: string;
  readonly pending: readonly string[];
}

export interface RunFact {
  readonly key: string;
  readonly account: string;
  readonly project: string;
  /** Key of the stack. */
  readonly stack: string;
  readonly id: string;
  /** 0 for the run of a command. */
  readonly number: number;
  readonly phase: RunPhase | "unknown";
  readonly mode: Run_Mode;
  /** Of the state with which it ended; 0 before. */
  readonly revision: number;
  /** Why there is the run, such as `user:ID` or `trigger:PROJECT/STACK@REVISION`. */
  readonly cause: string;
  readonly actor: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface LockFact {
  readonly key: string;
  readonly actor: string;
  readonly reason: string;
}

/** A step of a run that a server noted as stuck. The key is ACCOUNT/PROJECT/TICKET. */
export interface StuckFact extends NotedStuck {
  readonly key: string;
}

/** Of a stack, or of a project: the key of a project is ACCOUNT/PROJECT/project. */
export interface FreezeFact {
  readonly key: string;
  readonly actor: string;
  readonly reason: string;
  readonly atMs: number;
  /** When it ends by itself; 0: it does not. */
  readonly untilMs: number;
}

export interface DriftFact {
  readonly key: string;
  readonly changed: number;
  readonly deleted: number;
  /** Objects that differ and are ignored. */
  readonly ignored: number;
  /** 0 before the first check. */
  readonly checkedAtMs: number;
  /** 0 without drift. */
  readonly sinceMs: number;
  /** The run of the last check. */
  readonly run: string;
  /** The run of a check that has not ended; empty if none. */
  readonly check: string;
  /** The run that was requested for what was found; empty if none. */
  readonly remedy: string;
  /** When it is checked next; 0 before that was decided. */
  readonly nextAtMs: number;
  readonly problem: string;
}

export interface TriggerFact {
  readonly key: string;
  readonly tenancy: Tenancy;
  readonly name: string;
  readonly id: string;
  /** Key of the stack whose runs it requests. */
  readonly consumer: string;
  /** Key of the stack whose outputs it follows. */
  readonly producer: string;
  /** PROJECT/NAME of that stack. */
  readonly source: string;
  /** The run that was requested last; empty before. */
  readonly lastRun: string;
  /** Why no run was requested when outputs had changed last. */
  readonly problem: string;
  readonly paused: boolean;
  /** Of the outputs that were taken note of last. */
  readonly revision: bigint;
  /** Names of the outputs that count; empty: all. */
  readonly outputs: readonly string[];
}

export interface VariableSetFact {
  readonly key: string;
  readonly account: string;
  readonly project: string;
  readonly name: string;
  /** Patterns of names of stacks; empty: all of the project. */
  readonly stacks: readonly string[];
}

export interface AccountSetFact {
  readonly key: string;
  readonly account: string;
  readonly name: string;
  /** Patterns of names of projects; empty: all of the account. */
  readonly projects: readonly string[];
  /** Patterns of names of stacks; empty: all of these projects. */
  readonly stacks: readonly string[];
}

/** What a stack took of the outputs of another one. */
interface InputFact {
  /** Key of the other stack. */
  readonly key: string;
  readonly revision: bigint;
  /** Names of the outputs. */
  readonly outputs: readonly string[];
}

export interface OutputsFact {
  readonly key: string;
  /** With which the outputs became what they are. */
  readonly revision: bigint;
  readonly outputs: readonly { readonly name: string; readonly changed: bigint }[];
  /** Outputs of other stacks that the state was made with. */
  readonly inputs: readonly InputFact[];
}

export const STACKS: FollowedKind<StackFact> = {
  name: "stacks",
  type: STACK_KIND.type,
  kind: kind<StackFact>()({ key: ({ key }) => key }),
  // By name: that of the record. The id is within it.
  keyOf: placeKey,
  project: (resource) => {
    const { partition: account, namespace: project } = resource.id.tenancy;
    const { id } = decodeRecord(STACK_KIND, resource);
    return { key: placeKey(resource.id), account, project, id, name: resource.id.name };
  },
};

export const QUEUES: FollowedKind<QueueFact> = {
  name: "queues",
  type: SERVER_KINDS.queue.type,
  kind: kind<QueueFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { current, pending } = decodeRecord(SERVER_KINDS.queue, resource);
    return { key: placeKey(resource.id), current, pending };
  },
};

export const RUNS: FollowedKind<RunFact> = {
  name: "runs",
  type: RUN_KIND.type,
  kind: kind<RunFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const run = decodeRecord(RUN_KIND, resource);
    const { id, stack, number, phase, mode, revision, cause, actor } = run;
    const { partition: account, namespace: project } = resource.id.tenancy;
    return {
      key: placeKey(resource.id),
      account,
      project,
      stack: `${account}/${project}/${stack}`,
      id,
      number: Number(number),
      phase: storedRunPhase(phase) ?? "unknown",
      mode,
      revision: Number(revision),
      cause,
      actor,
      createdAtMs: Number(run.createdAtMs),
      updatedAtMs: Number(run.updatedAtMs),
    };
  },
};

export const LOCKS: FollowedKind<LockFact> = {
  name: "locks",
  type: SERVER_KINDS.lock.type,
  kind: kind<LockFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { actor, reason } = decodeRecord(SERVER_KINDS.lock, resource);
    return { key: placeKey(resource.id), actor, reason };
  },
};

/** Of the steps in the queue those alone that are stuck: others come and go all the time, and concern nobody here. */
export const STUCK_STEPS: FollowedKind<StuckFact> = {
  name: "stuck steps",
  type: SERVER_KINDS.ticket.type,
  kind: kind<StuckFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const stuck = notedAsStuck(decodeRecord(SERVER_KINDS.ticket, resource));
    return stuck && { key: placeKey(resource.id), ...stuck };
  },
};

export const FREEZES: FollowedKind<FreezeFact> = {
  name: "freezes",
  type: SERVER_KINDS.freeze.type,
  kind: kind<FreezeFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { actor, reason, atMs, untilMs } = decodeRecord(SERVER_KINDS.freeze, resource);
    const key = placeKey(resource.id);
    return { key, actor, reason, atMs: Number(atMs), untilMs: Number(untilMs) };
  },
};

export const DRIFTS: FollowedKind<DriftFact> = {
  name: "drift",
  type: SERVER_KINDS.drift.type,
  kind: kind<DriftFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const drift = decodeRecord(SERVER_KINDS.drift, resource);
    const { changed, deleted, checkedAtMs, sinceMs, run, check, remedy, lastProblem } = drift;
    return {
      key: placeKey(resource.id),
      changed,
      deleted,
      ignored: drift.ignoredChanged + drift.ignoredDeleted,
      checkedAtMs: Number(checkedAtMs),
      sinceMs: Number(sinceMs),
      run,
      check,
      remedy,
      nextAtMs: Number(nextOfAll(drift)),
      problem: lastProblem,
    };
  },
};

export const OUTPUTS: FollowedKind<OutputsFact> = {
  name: "outputs",
  type: STACK_OUTPUTS_KIND.type,
  kind: kind<OutputsFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { revision, inputs, outputs } = decodeRecord(STACK_OUTPUTS_KIND, resource);
    return {
      key: placeKey(resource.id),
      revision,
      outputs: outputs.map(({ name, changed }) => ({ name, changed })),
      inputs: inputs.map(({ account, project, stack, revision: read, outputs: names }) => ({
        key: `${account}/${project}/${stack}`,
        revision: read,
        outputs: names,
      })),
    };
  },
};

export const TRIGGERS: FollowedKind<TriggerFact> = {
  name: "triggers",
  type: SERVER_KINDS.trigger.type,
  kind: kind<TriggerFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const trigger = decodeRecord(SERVER_KINDS.trigger, resource);
    const { id, producerProject, producer, producerName, paused, revision, outputs } = trigger;
    const { tenancy, name } = resource.id;
    const { partition, namespace } = tenancy;
    return {
      key: placeKey(resource.id),
      tenancy,
      name,
      id,
      consumer: `${partition}/${namespace}/${name.slice(0, name.indexOf("."))}`,
      producer: `${partition}/${producerProject}/${producer}`,
      source: `${producerProject}/${producerName}`,
      lastRun: trigger.lastRun,
      problem: trigger.lastProblem,
      paused,
      revision,
      outputs,
    };
  },
};

export const VARIABLE_SETS: FollowedKind<VariableSetFact> = {
  name: "variable sets",
  type: SERVER_KINDS.variableSet.type,
  kind: kind<VariableSetFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { name, stacks } = decodeRecord(SERVER_KINDS.variableSet, resource);
    const { partition: account, namespace: project } = resource.id.tenancy;
    return { key: placeKey(resource.id), account, project, name, stacks };
  },
};

export const ACCOUNT_SETS: FollowedKind<AccountSetFact> = {
  name: "variable sets of accounts",
  type: SERVER_KINDS.accountVariableSet.type,
  kind: kind<AccountSetFact>()({ key: ({ key }) => key }),
  keyOf: ({ tenancy, name }) => `${tenancy.partition}/${name}`,
  project: (resource) => {
    const { name, projects, stacks } = decodeRecord(SERVER_KINDS.accountVariableSet, resource);
    const { partition: account } = resource.id.tenancy;
    return { key: `${account}/${name}`, account, name, projects, stacks };
  },
};

/** ACCOUNT/PROJECT/NAME of a resource. */
export function placeKey({ tenancy, name }: Pick<ResourceId, "tenancy" | "name">): string {
  return `${tenancy.partition}/${tenancy.namespace}/${name}`;
}
