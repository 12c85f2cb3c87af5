import { ProviderAddress } from "../address/provider-address.ts";
import { isSupportedHash, type PackageHash } from "../hash/package-hash.ts";
import type { VersionConstraints } from "../version/constraints.ts";
import type { Version } from "../version/version.ts";
import { formatLockFile } from "./lock-writer.ts";
import { createProviderLock, type ProviderLock } from "./provider-lock.ts";

/** One finished installation, to be noted in a lock file. */
export interface Installation {
  readonly address: ProviderAddress;
  readonly version: Version;
  /** All that templates ask of the provider. */
  readonly constraints: VersionConstraints;
  /** The `h1:` hash of the package as it was installed. */
  readonly installed: PackageHash;
  /** Hashes of all platforms' packages, if their publisher's signature of them was verified. */
  readonly signed?: Iterable<PackageHash>;
}

/**
 * The content of a dependency lock file (`.terraform.lock.hcl`). Immutable: each change gives
 * another value. Its text is byte for byte what the command writes for the same content.
 */
export class LockFile {
  /** By address in full canonical form, in the order of the file. */
  readonly providers: ReadonlyMap<string, ProviderLock>;

  private constructor(locks: Iterable<ProviderLock>) {
    const sorted = [...locks].sort((a, b) => ProviderAddress.compare(a.address, b.address));
    this.providers = new Map(sorted.map((lock) => [lock.address.toString(), lock]));
    Object.freeze(this);
  }

  /** No provider is locked. */
  static readonly empty = new LockFile([]);

  /** Of several entries for one provider the last one counts. */
  static of(locks: Iterable<ProviderLock>): LockFile {
    return new LockFile(
      new Map([...locks].map((lock) => [lock.address.toString(), lock])).values(),
    );
  }

  get(address: ProviderAddress): ProviderLock | undefined {
    return this.providers.get(address.toString());
  }

  /** With this entry in place of the provider's former one. */
  with(lock: ProviderLock): LockFile {
    return LockFile.of([...this.providers.values(), lock]);
  }

  /** Without the entries of all other providers, as `init` drops what no template needs any more. */
  retain(addresses: Iterable<ProviderAddress>): LockFile {
    const keep = new Set([...addresses].map(String));
    return LockFile.of(
      [...this.providers.values()].filter(({ address }) => keep.has(address.toString())),
    );
  }

  /**
   * Notes an installation as `init` does. If the same version was locked, its hashes of known
   * schemes stay and the given ones are added; those of unknown schemes go. If it was another
   * version, only the given hashes remain.
   */
  recordInstallation(done: Installation): LockFile {
    const { address, version, constraints, installed, signed = [] } = done;
    const prior = this.get(address);
    const kept =
      prior?.version.equals(version) === true ? prior.hashes.filter(isSupportedHash) : [];
    const hashes = [installed, ...kept, ...signed];
    return this.with(createProviderLock({ address, version, constraints, hashes }));
  }

  /**
   * Adds hashes of further platforms as `providers lock` does: those of a former entry all stay,
   * even if it locked another version.
   */
  addPlatformHashes(
    found: Omit<Installation, "installed" | "signed"> & {
      readonly hashes: Iterable<PackageHash>;
    },
  ): LockFile {
    const { address, version, constraints } = found;
    const hashes = [...(this.get(address)?.hashes ?? []), ...found.hashes];
    return this.with(createProviderLock({ address, version, constraints, hashes }));
  }

  /**
   * Whether both lock the same versions with the same hashes. Constraints do not count: the command
   * does not rewrite the file when only they differ.
   */
  selectsSame(other: LockFile): boolean {
    if (this.providers.size !== other.providers.size) return false;
    for (const [key, lock] of this.providers) {
      const theirs = other.providers.get(key);
      if (theirs?.version.equals(lock.version) !== true) return false;
      if (theirs.hashes.length !== lock.hashes.length) return false;
      if (!lock.hashes.every((hash, i) => hash === theirs.hashes[i])) return false;
    }
    return true;
  }

  /** The text of the file. */
  toString(): string {
    return formatLockFile(this.providers.values());
  }
}
