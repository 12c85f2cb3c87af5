export type { LeaseTiming, ResolvedTiming } from "./lease-options.ts";
export { resolveTiming } from "./lease-options.ts";
export type { FenceHolder, LeaseName } from "./lease-records.ts";
export {
  FENCE_TYPE,
  fenceHolderOf,
  fenceResourceId,
  HEARTBEAT_TYPE,
  heartbeatId,
} from "./lease-records.ts";
export type { Lease, Leases, LeasesOptions } from "./leases.ts";
export { createLeases } from "./leases.ts";
export type { RenewalTask } from "./renewal.ts";
export type { RenewalHandle, Renewer, ScheduledRenewerOptions } from "./renewer.ts";
export { createScheduledRenewer } from "./renewer.ts";
export type { StorageModuleReference, ThreadRenewerOptions } from "./thread-renewer.ts";
export { createThreadRenewer } from "./thread-renewer.ts";
