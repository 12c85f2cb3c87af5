import type { Path, Value } from "@stackwright/cty";
import type { PlanView, ViewAction } from "../model/plan-view.ts";

/**
 * What a view is made of: the part of a plan that it needs. Values carry marks; what is marked sensitive is in no view. Paths, ids,
 * summaries and messages are in it as they are. A plan of `@stackwright/core` has this shape after `concealPlan`.
 */
export interface GivenPlan
  extends Pick<PlanView, "stack" | "mode" | "partial" | "deferred" | "moves" | "createdAtMs"> {
  readonly revision: bigint;
  readonly changes: readonly GivenChange[];
  readonly outputs: readonly GivenOutput[];
  readonly drift: readonly GivenDrift[];
  readonly checks: readonly GivenCheck[];
}

export interface GivenChange {
  readonly address: string;
  /** Empty for the current object. */
  readonly deposed: string;
  readonly mode: "managed" | "data";
  readonly type: string;
  readonly name: string;
  readonly module: string;
  readonly key: string | number | bigint | undefined;
  readonly action: ViewAction;
  readonly order?: "create-first" | "delete-first";
  readonly reason?: string;
  readonly previousAddress?: string;
  readonly importing?: { readonly id: string };
  readonly before?: Value;
  readonly after?: Value;
  readonly replacePaths: readonly Path[];
  readonly causes: readonly GivenCause[];
  readonly createBeforeDestroyFor?: string;
  readonly provisioners?: readonly GivenProvisioner[];
}

/** A provisioner that runs with a change. */
export interface GivenProvisioner {
  readonly when: "create" | "destroy";
  readonly type: string;
  readonly onFailure: "fail" | "continue";
  /** What it does; absent where that is unknown or secret. */
  readonly summary?: string;
}

export interface GivenCause {
  readonly path: Path;
  readonly replaces: boolean;
  /** Addresses of changes in the same plan that the new value depends on, the nearest first. */
  readonly because: readonly string[];
}

export interface GivenOutput {
  readonly name: string;
  readonly before?: Value;
  readonly after?: Value;
  readonly sensitive: boolean;
}

export interface GivenDrift {
  readonly address: string;
  readonly deposed: string;
  readonly type: string;
  readonly before: Value;
  /** Absent: the object is gone. */
  readonly after?: Value;
  readonly relevant: boolean;
}

export interface GivenCheck {
  readonly address: string;
  readonly kind: string;
  readonly status: "pass" | "fail" | "unknown" | "error";
  readonly message?: string;
}
