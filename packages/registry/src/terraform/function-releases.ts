import { KeyedMutex } from "@stackwright/base/keyed-mutex";
import type { ProviderArchive, ProviderRelease } from "@stackwright/proto/stackwright";
import {
  type BridgeArchiveSource,
  type BridgeBinding,
  ProviderAddress,
  Version,
  zipHashHex,
} from "@stackwright/provider-source";
import { type CallOptions, isStorageError } from "@stackwright/storage";
import { writeAccountBlob } from "../domain/account-blobs.ts";
import { type PrivateProviderVersion, providerSource } from "../domain/model.ts";
import type { RegistryScope } from "../domain/scope.ts";
import { RegistryError } from "../errors.ts";
import type { Registry } from "../registry.ts";
import type { ReleaseKey } from "./file-tokens.ts";
import { type Release, readRelease, releaseAt, releaseOf } from "./releases.ts";

/**
 * The releases of providers that live in functions. Their archives, for every platform that the source
 * has, are made when one of them is first asked for, and from then on are what was stored: a newer
 * source does not change them, as lock files of users hold their hashes.
 */
export class FunctionReleases {
  readonly #registry: Registry;
  readonly #source: BridgeArchiveSource;
  readonly #mutex = new KeyedMutex();

  constructor(registry: Registry, source: BridgeArchiveSource) {
    this.#registry = registry;
    this.#source = source;
  }

  /** Platforms of a version; makes no archive. */
  async platforms(
    version: PrivateProviderVersion,
    options: CallOptions = {},
  ): Promise<readonly string[]> {
    const platforms = await this.#source.platforms(bindingOf(version), signalOf(options));
    return platforms.map(String);
  }

  /**
   * The release of a version, made if it is not there yet. Throws
   * `PROVIDER_SOURCE_BRIDGE_UNAVAILABLE` when it cannot be made now.
   */
  async release(
    scope: RegistryScope,
    version: PrivateProviderVersion,
    options: CallOptions = {},
  ): Promise<Release> {
    const key: ReleaseKey = {
      origin: "function",
      account: scope.account,
      name: version.versionId,
    };
    const found = await readRelease(this.#registry, scope.region, key, options);
    if (found !== undefined) return found;
    return this.#mutex.run(version.versionId, async () => {
      const meanwhile = await readRelease(this.#registry, scope.region, key, options);
      return meanwhile ?? this.#make(scope, key, version, options);
    });
  }

  async #make(
    scope: RegistryScope,
    key: ReleaseKey,
    version: PrivateProviderVersion,
    options: CallOptions,
  ): Promise<Release> {
    const { records, clock } = this.#registry.parts;
    const binding = bindingOf(version);
    const nowMs = BigInt(clock.wallMs());
    const archives: ProviderArchive[] = [];
    for (const platform of await this.#source.platforms(binding, signalOf(options))) {
      const archive = await this.#source.archive({ ...binding, platform }, signalOf(options));
      const sha256 = archive && zipHashHex(archive.zh);
      if (archive === undefined || sha256 === undefined) {
        throw new RegistryError("REGISTRY_CORRUPT", `there is no archive for ${String(platform)}`);
      }
      // What does not have the announced digest and size is not stored, and so never signed.
      await writeAccountBlob(this.#registry.blobs, scope.account, archive.read(signalOf(options)), {
        ...options,
        expected: { sha256, size: archive.sizeBytes },
      });
      archives.push({
        platform: String(platform),
        filename: archive.filename,
        sha256,
        size: BigInt(archive.sizeBytes),
        h1: archive.h1,
        protocols: [...archive.protocols],
        createTimeMs: nowMs,
      });
    }
    const value: ProviderRelease = {
      namespace: binding.address.namespace,
      type: binding.address.type,
      version: version.version,
      archives,
      withdrawn: false,
      createTimeMs: nowMs,
      deprecation: "",
      withdrawTimeMs: 0n,
    };
    const at = releaseAt(scope.region, key);
    try {
      await records.write(at, value, undefined, options);
      return releaseOf(key, { value });
    } catch (error) {
      // Another instance was first: its archives count.
      if (!isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw error;
      const winner = await readRelease(this.#registry, scope.region, key, options);
      if (winner === undefined) throw error;
      return winner;
    }
  }
}

function bindingOf(version: PrivateProviderVersion): BridgeBinding {
  return {
    address: ProviderAddress.parse(providerSource(version.providerName)),
    version: Version.parse(version.version),
    functionUrn: version.functionUrn,
  };
}

function signalOf({ signal }: CallOptions): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
