import { type RunPhase, storedRunPhase } from "@stackwright/core";
import { kind } from "@stackwright/krt";
import type { ResourceId } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, STACK_KIND, STACK_OUTPUTS_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
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
  readonly stack: string;
  readonly id: string;
  /** 0 for the run of a command. */
  readonly number: number;
  readonly phase: RunPhase | "unknown";
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface LockFact {
  readonly key: string;
  readonly actor: string;
  readonly reason: string;
}

export interface OutputsFact {
  readonly key: string;
  /** With which the outputs became what they are. */
  readonly revision: bigint;
  /** Outputs of other stacks that the state was made with. */
  readonly inputs: readonly { readonly key: string; readonly revision: bigint }[];
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
    const { id, stack, number, phase, createdAtMs, updatedAtMs } = decodeRecord(RUN_KIND, resource);
    const { partition, namespace } = resource.id.tenancy;
    return {
      key: placeKey(resource.id),
      stack: `${partition}/${namespace}/${stack}`,
      id,
      number: Number(number),
      phase: storedRunPhase(phase) ?? "unknown",
      createdAtMs: Number(createdAtMs),
      updatedAtMs: Number(updatedAtMs),
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

export const OUTPUTS: FollowedKind<OutputsFact> = {
  name: "outputs",
  type: STACK_OUTPUTS_KIND.type,
  kind: kind<OutputsFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { revision, inputs } = decodeRecord(STACK_OUTPUTS_KIND, resource);
    return {
      key: placeKey(resource.id),
      revision,
      inputs: inputs.map(({ account, project, stack, revision: read }) => ({
        key: `${account}/${project}/${stack}`,
        revision: read,
      })),
    };
  },
};

function placeKey({ tenancy, name }: Pick<ResourceId, "tenancy" | "name">): string {
  return `${tenancy.partition}/${tenancy.namespace}/${name}`;
}
