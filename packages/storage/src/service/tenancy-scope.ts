import { StorageError } from "../errors.ts";
import { type Tenancy, WILDCARD } from "../resource.ts";
import type { ResourceScope } from "./type-registry.ts";

/** What stands for a tenancy field that a caller left empty. */
export const DEFAULT_TENANCY: Tenancy = Object.freeze({
  partition: "default",
  peerName: "local",
  namespace: "default",
});

/**
 * The tenancy of a resource of a scope, with defaults for what is empty. Fields that the scope does
 * not have must be empty; in lists and watches they may be the wildcard.
 */
export function scopeTenancy(
  tenancy: Partial<Tenancy>,
  scope: ResourceScope,
  wildcards: boolean,
): Tenancy {
  const take = (field: "partition" | "namespace", has: boolean): string => {
    const value = tenancy[field] ?? "";
    if (has) return value === "" ? DEFAULT_TENANCY[field] : value;
    if (value === "" || (wildcards && value === WILDCARD)) return "";
    throw new StorageError(
      "STORAGE_INVALID_ARGUMENT",
      `a ${scope}-scoped resource has no ${field}`,
      { details: { field: `tenancy.${field}` } },
    );
  };
  const peerName = tenancy.peerName ?? "";
  return {
    partition: take("partition", scope !== "cluster"),
    peerName: peerName === "" ? DEFAULT_TENANCY.peerName : peerName,
    namespace: take("namespace", scope === "namespace"),
  };
}
