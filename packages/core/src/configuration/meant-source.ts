import {
  DEFAULT_REGISTRY_HOST,
  type LockFile,
  ProviderAddress,
} from "@stackwright/provider-source";

/** The host of an address that names none, as OpenTofu reads it. */
const TOFU_REGISTRY_HOST = "registry.opentofu.org";

/**
 * Which provider an address of the default registry stands for. OpenTofu takes such an address from a registry of its own, and a lock
 * file shows which command wrote it: one that has the provider of the other registry alone means that.
 *
 * @param options `reader` decides about providers that are not locked. @default "terraform"
 */
export function createMeantSource({
  lock,
  reader = "terraform",
}: {
  readonly lock: LockFile;
  readonly reader?: "terraform" | "tofu";
}): (source: ProviderAddress) => ProviderAddress {
  return (source) => {
    const { host, namespace, type, kind } = source;
    if (host !== DEFAULT_REGISTRY_HOST || kind !== "registry") return source;
    if (lock.get(source) !== undefined) return source;
    const other = ProviderAddress.parse(`${TOFU_REGISTRY_HOST}/${namespace}/${type}`);
    return reader === "tofu" || lock.get(other) !== undefined ? other : source;
  };
}
