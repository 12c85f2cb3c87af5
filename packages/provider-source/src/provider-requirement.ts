import type { ProviderAddress } from "./address/provider-address.ts";
import type { VersionConstraints } from "./version/constraints.ts";

/** One `required_providers` entry: a provider and the versions that it may have. Several for one provider all count. */
export interface ProviderRequirement {
  readonly address: ProviderAddress;
  readonly constraints: VersionConstraints;
}
