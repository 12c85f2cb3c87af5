import type { ProviderAddress } from "../address/provider-address.ts";
import type { PackageHash } from "../hash/package-hash.ts";
import type { PackageId } from "../package-layout.ts";
import type { Platform } from "../platform.ts";
import type { Version } from "../version/version.ts";

/** A private provider at one version, as its registry knows it. */
export interface BridgeBinding {
  /** Of kind `private`. */
  readonly address: ProviderAddress;
  readonly version: Version;
  /** The function that this version is (seed 003, `function_graph_urn`). */
  readonly functionUrn: string;
}

/** What an archive is asked for: one binding on one platform. */
export interface BridgeArchiveRequest extends BridgeBinding {
  readonly platform: Platform;
}

/** An archive with its hashes, not yet read. */
export interface BridgeArchive {
  /** What it holds. */
  readonly id: PackageId;
  /** The name under which registries list it, and which the signed list of checksums carries. */
  readonly filename: string;
  readonly sizeBytes: number;
  /** Of the archive's bytes: the `shasum` of the registry protocol. */
  readonly zh: PackageHash;
  /** Of what is in it. */
  readonly h1: PackageHash;
  /** Plugin protocols of the provider inside, such as `5.0`, for the registry's list of versions. */
  readonly protocols: readonly string[];
  /** Streams the archive from its start; may be called again, and gives the same bytes each time. */
  read(options?: { readonly signal?: AbortSignal }): AsyncIterable<Uint8Array>;
}

/**
 * Where a registry gets the archives from with which an unmodified `terraform` installs a provider
 * that lives in a function. Each holds the bridge provider, an executable that speaks the plugin
 * protocol to the command and forwards to the function, bound to one provider and version.
 *
 * The registry depends on this interface alone; the code that assembles the server injects a source
 * (the bridge's own, or a fake in tests).
 *
 * What a source guarantees:
 *
 * - **Shape.** The archive's root has one executable `terraform-provider-<type>`, with or without
 *   `_v<version>` behind it, with its executable bit set, and no entries for directories, so that
 *   `h1` is the hash of the unpacked directory too.
 * - **Reproducible.** Equal requests give equal bytes, on every replica and after every restart,
 *   for as long as {@link BridgeArchiveSource.revision} stays the same. A new build of the bridge
 *   changes the bytes, and with them `revision`.
 * - **No secrets.** The archive is public to all who may install the provider: no keys, no tokens.
 *   The bridge takes those from the environment or the provider block.
 *
 * What a registry must do:
 *
 * - Store the archive of a version when it is first asked for, under its platform, and serve that
 *   copy from then on, also when `revision` changes: lock files of users hold its hashes.
 * - Check `zh` and `sizeBytes` against what it stored before it serves or signs anything.
 *
 * Methods may be called at the same time. They reject with the reason of `signal`, with
 * `PROVIDER_SOURCE_BRIDGE_UNAVAILABLE` (retryable) if no archive can be made now, for instance
 * because the provider's schema cannot be fetched from the function.
 */
export interface BridgeArchiveSource {
  /**
   * Names the build of the bridge that archives are made of; changes whenever equal requests would
   * give other bytes. Opaque text, fit for a key.
   */
  readonly revision: string;
  /**
   * The platforms there are archives for, in the order of `Platform.compare`; not empty. The answer
   * does not cost the making of an archive.
   */
  platforms(
    binding: BridgeBinding,
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly Platform[]>;
  /** The archive, or undefined if there is none for that platform. */
  archive(
    request: BridgeArchiveRequest,
    options?: { readonly signal?: AbortSignal },
  ): Promise<BridgeArchive | undefined>;
}
