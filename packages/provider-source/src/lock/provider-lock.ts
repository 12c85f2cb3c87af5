import type { ProviderAddress } from "../address/provider-address.ts";
import { ProviderSourceError } from "../errors.ts";
import { isSupportedHash, normalizeHashes, type PackageHash } from "../hash/package-hash.ts";
import type { VersionConstraints } from "../version/constraints.ts";
import type { Version } from "../version/version.ts";

/** What a lock file says of one provider. Immutable. */
export interface ProviderLock {
  readonly address: ProviderAddress;
  /** The version that was selected. */
  readonly version: Version;
  /** The constraints it was selected by: a note for readers, not evaluated again. */
  readonly constraints: VersionConstraints;
  /** Any of these may be the hash of a package of this version; sorted, without repetitions. */
  readonly hashes: readonly PackageHash[];
}

/**
 * Makes the entry of a lock file; hashes may come in any order. Throws
 * `PROVIDER_SOURCE_ADDRESS_INVALID` for built-in and legacy providers, which no lock file can hold.
 */
export function createProviderLock(
  lock: Omit<ProviderLock, "hashes"> & { readonly hashes?: Iterable<PackageHash> },
): ProviderLock {
  const { address, version, constraints } = lock;
  if (!address.lockable) {
    throw new ProviderSourceError(
      "PROVIDER_SOURCE_ADDRESS_INVALID",
      `The ${address.kind === "builtin" ? "built-in" : "legacy"} provider ${address.toString()} has no versions to select, so it cannot be locked.`,
      { input: address.toString(), part: "address" },
    );
  }
  return Object.freeze({
    address,
    version,
    constraints,
    hashes: normalizeHashes(lock.hashes ?? []),
  });
}

/**
 * The hashes a package may be checked against: those of schemes that are known here. When there is
 * none, nothing can be checked, and the command accepts any package.
 */
export function checkableHashes(lock: ProviderLock): readonly PackageHash[] {
  return lock.hashes.filter(isSupportedHash);
}
