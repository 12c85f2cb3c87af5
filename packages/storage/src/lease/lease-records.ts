import { Fence, Heartbeat } from "@stackwright/proto/stackwright";
import { StorageError } from "../errors.ts";
import type { Resource, ResourceId, ResourceType, Tenancy } from "../resource.ts";

/** Type of the resource that says who holds a lease. */
export const FENCE_TYPE: ResourceType = Object.freeze({
  group: "stackwright",
  groupVersion: "v1",
  kind: "Fence",
});

/** Type of the resource that a holder writes to show that it is alive. */
export const HEARTBEAT_TYPE: ResourceType = Object.freeze({ ...FENCE_TYPE, kind: "Heartbeat" });

const FENCE_URL = "type.googleapis.com/stackwright.v1.Fence";
const HEARTBEAT_URL = "type.googleapis.com/stackwright.v1.Heartbeat";

/** Names a lease: one holder at a time per tenancy and name. */
export interface LeaseName {
  readonly tenancy: Tenancy;
  readonly name: string;
}

/** Who holds a lease, and how often it has changed hands. */
export interface FenceHolder {
  /** Empty after a release. */
  readonly owner: string;
  readonly epoch: bigint;
}

/** Id of a lease's fence in any lifetime. */
export function fenceResourceId(lease: LeaseName): ResourceId {
  return { uid: "", name: lease.name, type: FENCE_TYPE, tenancy: lease.tenancy };
}

/** Id of a lease's heartbeat in any lifetime. */
export function heartbeatId(lease: LeaseName): ResourceId {
  return { uid: "", name: lease.name, type: HEARTBEAT_TYPE, tenancy: lease.tenancy };
}

/**
 * The fence for a tenure, to replace what is stored; `token` becomes the generation, by which its
 * writer recognises it when the answer to the write was lost.
 */
export function fenceResource(
  lease: LeaseName,
  stored: Resource | undefined,
  tenure: FenceHolder,
  token: string,
): Resource {
  const value = Fence.encode(tenure).finish();
  return record(fenceResourceId(lease), stored, token, { typeUrl: FENCE_URL, value });
}

/** The heartbeat for a tenure, to replace what is stored. */
export function heartbeatResource(
  lease: LeaseName,
  stored: Resource | undefined,
  tenure: FenceHolder,
  token: string,
): Resource {
  const value = Heartbeat.encode(tenure).finish();
  return record(heartbeatId(lease), stored, token, { typeUrl: HEARTBEAT_URL, value });
}

/** The tenure in a stored fence; none was ever acquired when nothing is stored. */
export function fenceHolderOf(fence: Resource | undefined): FenceHolder {
  if (fence === undefined) return { owner: "", epoch: 0n };
  if (fence.data?.typeUrl !== FENCE_URL) {
    throw new StorageError("STORAGE_CORRUPT", `"${fence.id.name}" is stored without a fence`);
  }
  const { owner, epoch } = Fence.decode(fence.data.value);
  return { owner, epoch };
}

/** Whether a stored heartbeat belongs to a tenure. */
export function isHeartbeatOf(heartbeat: Resource | undefined, tenure: FenceHolder): boolean {
  if (heartbeat?.data?.typeUrl !== HEARTBEAT_URL) return false;
  const { owner, epoch } = Heartbeat.decode(heartbeat.data.value);
  return owner === tenure.owner && epoch === tenure.epoch;
}

function record(
  id: ResourceId,
  stored: Resource | undefined,
  token: string,
  data: Resource["data"],
): Resource {
  return {
    id: { ...id, uid: stored?.id.uid ?? token },
    version: stored?.version ?? "",
    generation: token,
    metadata: {},
    status: {},
    ...(data === undefined ? {} : { data }),
  };
}
