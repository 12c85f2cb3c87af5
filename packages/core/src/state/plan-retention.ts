import { Run as RunMessage, StackPlan } from "@stackwright/proto/stackwright";
import {
  type CallOptions,
  isStorageError,
  type Resource,
  type ResourceId,
  type StorageBackend,
} from "@stackwright/storage";
import { isEngineError } from "../errors.ts";
import { decodeKind, memberPrefix, STATE_KINDS, stackTenancy } from "./kinds.ts";
import { isEnded, storedRunPhase } from "./runs.ts";
import type { StackReference } from "./stack-state.ts";

/** How long saved plans stay. A plan that exceeds either bound is removed. */
export interface PlanRetention {
  /** Milliseconds since the plan was saved. */
  readonly maxAgeMs: number;
  /** Newest plans of a stack. */
  readonly perStack: number;
}

export const DEFAULT_PLAN_RETENTION: PlanRetention = Object.freeze({
  maxAgeMs: 30 * 24 * 60 * 60 * 1000,
  perStack: 100,
});

export interface ExpirePlansOptions extends CallOptions {
  readonly storage: StorageBackend;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** @default 30 days, 100 plans */
  readonly retention?: PlanRetention;
}

// The plans are read before the runs, or with them at one point in time, so a run that was written before the plans
// were read is seen. A run that begins later has loaded its plan already, and does not read it again. A plan that
// is written again meanwhile has another version and stays.

/** Removes the old plans of all stacks of a store; returns their number. A plan of a run that has not ended stays. */
export async function expirePlans(options: ExpirePlansOptions): Promise<number> {
  const { storage, signal } = options;
  const found = new FoundPlans();
  await using snapshot = await storage.snapshot({
    ...(signal !== undefined && { signal }),
    onDamaged: ({ id }) => found.damaged(id),
  });
  for await (const resource of snapshot) found.add(resource);
  return await found.remove(options);
}

/** Removes the old plans of one stack; returns their number. A plan of a run that has not ended stays. */
export async function expireStackPlans(
  stack: StackReference,
  options: ExpirePlansOptions,
): Promise<number> {
  const { storage, signal } = options;
  const found = new FoundPlans();
  for (const kind of [STATE_KINDS.plan, STATE_KINDS.run]) {
    const resources = await storage.list("strong", kind, stackTenancy(stack), memberPrefix(stack), {
      ...(signal !== undefined && { signal }),
      onDamaged: ({ id }) => found.damaged(id),
    });
    for (const resource of resources) found.add(resource);
  }
  return found.remove(options);
}

interface FoundPlan extends Pick<Resource, "id" | "version"> {
  readonly digest: string;
  readonly createdAtMs: number;
}

class FoundPlans {
  readonly #plans = new Map<string, FoundPlan[]>();
  /** Digests of the plans of runs that have not ended. */
  readonly #needed = new Set<string>();
  /** Stacks with a run that cannot be read: which plan it needs is not known. */
  readonly #unknown = new Set<string>();

  add(resource: Resource): void {
    try {
      this.#add(resource);
    } catch (error) {
      if (!isEngineError(error, "ENGINE_STATE_CORRUPT")) throw error;
      this.damaged(resource.id);
    }
  }

  /** Takes what cannot be read: it keeps the plans that it may need, and no others. */
  damaged(id: ResourceId): void {
    const { group, kind } = id.type;
    if (group === STATE_KINDS.run.group && kind === STATE_KINDS.run.kind) {
      this.#unknown.add(stackOf(id));
    }
  }

  #add(resource: Resource): void {
    const { id, version } = resource;
    if (id.type.group !== STATE_KINDS.plan.group) return;
    if (id.type.kind === STATE_KINDS.run.kind) {
      const { phase, planDigest } = decodeKind(resource, RunMessage);
      const known = storedRunPhase(phase);
      // A phase of a newer release: whether it is an end is unknown.
      if (known === undefined || !isEnded(known)) this.#needed.add(planDigest);
    } else if (id.type.kind === STATE_KINDS.plan.kind) {
      const { digest, createdAtMs } = decodeKind(resource, StackPlan);
      const stack = stackOf(id);
      const plans = this.#plans.get(stack) ?? [];
      plans.push({ id, version, digest, createdAtMs: Number(createdAtMs) });
      this.#plans.set(stack, plans);
    }
  }

  async remove({
    storage,
    nowMs,
    signal,
    retention = DEFAULT_PLAN_RETENTION,
  }: ExpirePlansOptions): Promise<number> {
    let removed = 0;
    for (const [stack, plans] of this.#plans) {
      if (this.#unknown.has(stack)) continue;
      const newestFirst = plans.toSorted((a, b) => b.createdAtMs - a.createdAtMs);
      for (const [position, { id, version, digest, createdAtMs }] of newestFirst.entries()) {
        const isOld = position >= retention.perStack || nowMs - createdAtMs > retention.maxAgeMs;
        if (!isOld || this.#needed.has(digest)) continue;
        try {
          await storage.deleteCAS(id, version, signal === undefined ? {} : { signal });
          removed += 1;
        } catch (error) {
          if (!isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw error;
        }
      }
    }
    return removed;
  }
}

/** The stack that a member belongs to: its tenancy and its name without that of the member. */
function stackOf({ tenancy, name }: ResourceId): string {
  const { partition, peerName, namespace } = tenancy;
  return [partition, peerName, namespace, name.slice(0, name.lastIndexOf("."))].join("\0");
}
