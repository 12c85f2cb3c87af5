import type { StackReference } from "@stackwright/core";
import {
  Fence,
  Run as RunMessage,
  StackHead as StackHeadMessage,
  Stack as StackMessage,
  StackOutputs as StackOutputsMessage,
  StackPlan as StackPlanMessage,
} from "@stackwright/proto/stackwright";
import { type Tenancy, tenancyOf } from "@stackwright/storage";
import { recordKind } from "./record-kind.ts";

/** Kinds of other packages that the run layer reads, and `Run`, which it writes. */
export const RUN_KIND = recordKind("Run", RunMessage);
export const STACK_KIND = recordKind("Stack", StackMessage);
export const STACK_HEAD_KIND = recordKind("StackHead", StackHeadMessage);
export const STACK_OUTPUTS_KIND = recordKind("StackOutputs", StackOutputsMessage);
export const STACK_PLAN_KIND = recordKind("StackPlan", StackPlanMessage);
export const FENCE_KIND = recordKind("Fence", Fence);

/**
 * The pool of the workers that run in servers. The names of all tickets begin with it, so that one list has them; which pool
 * a ticket is for is a field of it.
 */
export const DEFAULT_POOL = "default";

/** What the names of the leases of workers begin with, in the scope of the site. */
export const WORKER_LEASE = "worker.";

/** Names a run. */
export interface RunReference {
  readonly stack: StackReference;
  readonly run: string;
}

/** Where a resource is. */
export interface Place {
  readonly tenancy: Tenancy;
  readonly name: string;
}

/** Where something is of which a stack has one. */
export function stackPlace(stack: StackReference): Place {
  return { tenancy: projectTenancy(stack), name: stack.stack };
}

/** Where something is of which a stack has many. */
export function memberPlace(stack: StackReference, ...parts: readonly string[]): Place {
  return { tenancy: projectTenancy(stack), name: [stack.stack, ...parts].join(".") };
}

export function runPlace({ stack, run }: RunReference): Place {
  return memberPlace(stack, run);
}

export function segmentPlace({ stack, run }: RunReference, first: number): Place {
  return memberPlace(stack, run, first.toString(16).padStart(12, "0"));
}

export function stateVersionPlace(stack: StackReference, version: bigint): Place {
  return memberPlace(stack, version.toString(16).padStart(12, "0"));
}

export function ticketPlace({ stack, run }: RunReference, pool = DEFAULT_POOL): Place {
  return { tenancy: projectTenancy(stack), name: `${pool}.${run}` };
}

/** Where a plan set is. */
export function planSetPlace(
  project: Pick<StackReference, "account" | "project">,
  set: string,
): Place {
  return { tenancy: projectTenancy(project), name: set };
}

export function projectTenancy({
  account,
  project,
}: Pick<StackReference, "account" | "project">): Tenancy {
  return tenancyOf({ kind: "project", account, project });
}

/** The run that a ticket is for. */
export function runOfTicket(
  tenancy: Tenancy,
  { stack, run }: { readonly stack: string; readonly run: string },
): RunReference {
  return { stack: { account: tenancy.partition, project: tenancy.namespace, stack }, run };
}
