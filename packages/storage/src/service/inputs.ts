import type { Resource, ResourceId, Status, Tenancy } from "../resource.ts";
import type { CallOptions, ReadConsistency } from "../types.ts";

/** Options of a read. */
export interface ReadOptions extends CallOptions {
  /** @default "eventual" */
  readonly consistency?: ReadConsistency;
}

/**
 * An id as callers give it: parts of the tenancy that are left out have defaults, and without a uid
 * it means any stored lifetime.
 */
export interface PartialResourceId {
  readonly uid?: string;
  readonly name: string;
  readonly type: ResourceId["type"];
  readonly tenancy?: Partial<Tenancy>;
}

/** A resource as callers give it; what is left out is empty, or carried over from what is stored. */
export interface ResourceInput {
  readonly id: PartialResourceId;
  /** Set on creation only. Without a uid: the owner that is stored at that moment. */
  readonly owner?: PartialResourceId;
  /** The version to replace. Without it: the stored one, repeated when others are faster. */
  readonly version?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly data?: Resource["data"];
  /** Has to be what is stored, or absent: statuses are written by `writeStatus`. */
  readonly status?: Resource["status"];
}

/** A status to be written. */
export interface StatusInput {
  /** With its uid: a status is about one lifetime. */
  readonly id: PartialResourceId;
  /** Names the controller; others' statuses are not touched. */
  readonly key: string;
  /** Without `updatedAt`, which the service sets. */
  readonly status: Omit<Status, "updatedAt">;
  /** The version to replace, as in {@link ResourceInput}. */
  readonly version?: string;
}

/** Which resources to list or watch. */
export interface ListFilterInput {
  readonly type: ResourceId["type"];
  /** Fields may be the wildcard; those left out have defaults. */
  readonly tenancy?: Partial<Tenancy>;
  /** @default "" */
  readonly namePrefix?: string;
}
