export { launchPoolMember } from "./launch-member.ts";
export type { PoolKey } from "./pool-key.ts";
export { environmentDigest, fileDigest } from "./pool-key.ts";
export type { PoolMember, ProviderPoolOptions } from "./pool-options.ts";
export type {
  AcquireRequest,
  PooledProviderHandle,
  PoolStatistics,
  PoolUse,
} from "./provider-pool.ts";
export { ProviderPool } from "./provider-pool.ts";
