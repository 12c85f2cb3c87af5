import { PRIVATE_NAMESPACE } from "@stackwright/provider-source";
import type { CallOptions } from "@stackwright/storage";
import { isRegistryError } from "../errors.ts";
import type { Registry } from "../registry.ts";
import { findNamespace } from "./namespaces.ts";
import { type OfferedProvider, ReleaseIndex } from "./release-index.ts";
import { checksumList } from "./releases.ts";
import { type PublicSigningKey, SigningKey } from "./signing-key.ts";

/** A provider of a namespace. */
export interface PublishedName {
  readonly namespace: string;
  readonly type: string;
}

/** A version of a published provider that can be installed. */
export interface PublishedVersion {
  readonly version: string;
  /** Plugin protocols that all of its packages speak. */
  readonly protocols: readonly string[];
  /** Such as `linux_amd64`. */
  readonly platforms: readonly string[];
}

/** A package of a published version, with what the registry signed. */
export interface PublishedPackage {
  readonly protocols: readonly string[];
  /** Its name in the checksums. */
  readonly filename: string;
  /** Of the archive, in the blob store. */
  readonly sha256: string;
  readonly size: number;
  readonly checksums: Uint8Array;
  /** A detached OpenPGP signature over the checksums. */
  readonly signature: Uint8Array;
  /** One of these made the signature. */
  readonly signingKeys: readonly PublicSigningKey[];
}

/** Whether a version of a published provider may still be used. */
export type PublishedStanding =
  | { readonly state: "offered" }
  /** `sinceMs` is 0 where it was not recorded when that happened. */
  | { readonly state: "withdrawn"; readonly sinceMs: number }
  /** The namespace is a private one of another account: so it is for all names in it, whether there is such a provider or not. */
  | { readonly state: "hidden" };

/** What an account can install of the providers that were published to a registry. */
export interface PublishedProviders {
  /** Newest first; none where there is no such provider, or where it is a private one of another account. */
  versions(
    account: string,
    name: PublishedName,
    options?: CallOptions,
  ): Promise<readonly PublishedVersion[]>;
  /** Undefined where the account sees no such provider or version, or the version is not for the platform. */
  package(
    account: string,
    name: PublishedName,
    version: string,
    platform: string,
    options?: CallOptions,
  ): Promise<PublishedPackage | undefined>;
  /** Of one version, whatever its platforms. Undefined where there is no such namespace, or no such version in one that the account sees. */
  standing(
    account: string,
    name: PublishedName,
    version: string,
    options?: CallOptions,
  ): Promise<PublishedStanding | undefined>;
}

/**
 * The published providers of a registry for those who have its store, without a request: what an account sees, and what is signed, is
 * the same as through the provider registry protocol. Providers that live in functions have no packages here, as their callers need none.
 */
export function createPublishedProviders({
  registry,
  region,
}: {
  readonly registry: Registry;
  readonly region: string;
}): PublishedProviders {
  const signingKey = new SigningKey(registry.secrets);
  const releases = new ReleaseIndex({ registry, region, functions: undefined, mirrorHosts: [] });

  async function find(
    account: string,
    { namespace, type }: PublishedName,
    options: CallOptions,
  ): Promise<OfferedProvider | undefined> {
    if (namespace === PRIVATE_NAMESPACE) return undefined;
    const reader = { account, actor: "registry", roles: ["reader"], projects: [] } as const;
    try {
      return await releases.find(namespace, type, reader, options);
    } catch (error) {
      if (isRegistryError(error, "REGISTRY_PROVIDER_NOT_FOUND")) return undefined;
      throw error;
    }
  }

  return {
    async versions(account, name, options = {}) {
      const offered = (await (await find(account, name, options))?.versions(options)) ?? [];
      return offered.map(({ version, protocols, platforms }) => ({
        version,
        protocols,
        platforms,
      }));
    },
    async standing(account, name, version, options = {}) {
      const offered = await find(account, name, options);
      if (offered === undefined) {
        const isTaken = (await findNamespace(registry, name.namespace, options)) !== undefined;
        return isTaken ? { state: "hidden" } : undefined;
      }
      const release = await offered.recorded(version, options);
      if (release === undefined) return undefined;
      const { withdrawn, withdrawnAtMs } = release;
      return withdrawn ? { state: "withdrawn", sinceMs: withdrawnAtMs } : { state: "offered" };
    },
    async package(account, name, version, platform, options = {}) {
      const release = await (await find(account, name, options))?.release(version, options);
      const archive = release?.archives.find((one) => one.platform === platform);
      if (release === undefined || archive === undefined) return undefined;
      const { protocols, filename, sha256, size } = archive;
      const checksums = checksumList(release, release.archives.length);
      return {
        protocols,
        filename,
        sha256,
        size,
        checksums,
        signature: await signingKey.sign(checksums),
        signingKeys: [await signingKey.publicKey()],
      };
    },
  };
}
