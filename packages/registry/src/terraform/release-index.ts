import { PRIVATE_HOST, PRIVATE_NAMESPACE, Version } from "@stackwright/provider-source";
import type { CallOptions } from "@stackwright/storage";
import { hasRole, type Principal } from "../access/principal.ts";
import type { PrivateProviderVersion } from "../domain/model.ts";
import { type RegistryScope, scopeTenancy } from "../domain/scope.ts";
import { isRegistryError, RegistryError } from "../errors.ts";
import type { Registry } from "../registry.ts";
import type { FunctionReleases } from "./function-releases.ts";
import { findNamespace } from "./namespaces.ts";
import { isReleaseVersion, isTypeName } from "./release-name.ts";
import { listReleases, type Release, readRelease } from "./releases.ts";

/** A version as lists show it. */
interface OfferedVersion {
  readonly version: string;
  readonly platforms: readonly string[];
  readonly protocols: readonly string[];
  readonly deprecation: string;
}

/** One provider that can be installed: published, or hosted in functions. */
export interface OfferedProvider {
  versions(options?: CallOptions): Promise<readonly OfferedVersion[]>;
  /** The release of a version; `undefined` if there is none, or it was withdrawn. */
  release(version: string, options?: CallOptions): Promise<Release | undefined>;
  /** The same, withdrawn ones included. */
  recorded(version: string, options?: CallOptions): Promise<Release | undefined>;
}

/** Parts of a {@link ReleaseIndex}. */
interface ReleaseIndexOptions {
  readonly registry: Registry;
  readonly region: string;
  /** Makes archives of function-hosted providers; without it those cannot be installed. */
  readonly functions: FunctionReleases | undefined;
  /** Hosts under which the mirror serves our namespaces. */
  readonly mirrorHosts: readonly string[];
}

const PAGE = 1000;

/** The available providers, and the accounts that they are visible to. */
export class ReleaseIndex {
  readonly #options: ReleaseIndexOptions;

  constructor(options: ReleaseIndexOptions) {
    this.#options = options;
  }

  /**
   * A provider of a namespace, for an account or (undefined) an unauthenticated caller. An unauthenticated caller gets
   * `REGISTRY_UNAUTHENTICATED` for everything that is not public, whether it exists or not; an account gets
   * `REGISTRY_PROVIDER_NOT_FOUND` for private providers of others.
   */
  async find(
    namespace: string,
    type: string,
    principal: Principal | undefined,
    options: CallOptions = {},
  ): Promise<OfferedProvider> {
    const { registry, region } = this.#options;
    if (namespace === PRIVATE_NAMESPACE) {
      if (principal === undefined) throw new RegistryError("REGISTRY_UNAUTHENTICATED");
      if (!hasRole(principal, "reader")) throw notFound(namespace, type);
      return this.#functionProvider({ account: principal.account, region }, type);
    }
    const owner = await findNamespace(registry, namespace, options);
    const own =
      owner !== undefined && owner.account === principal?.account && hasRole(principal, "reader");
    if (owner === undefined || !(owner.public || own)) {
      if (principal === undefined) throw new RegistryError("REGISTRY_UNAUTHENTICATED");
      throw notFound(namespace, type);
    }
    return this.#publishedProvider({ account: owner.releaseAccount, region }, namespace, type);
  }

  /** A provider by its full address, for the mirror. */
  async findMirrored(
    host: string,
    namespace: string,
    type: string,
    principal: Principal | undefined,
    options: CallOptions = {},
  ): Promise<OfferedProvider> {
    const isOurs =
      host === PRIVATE_HOST
        ? namespace === PRIVATE_NAMESPACE
        : namespace !== PRIVATE_NAMESPACE && this.#options.mirrorHosts.includes(host);
    if (isOurs) return this.find(namespace, type, principal, options);
    if (principal === undefined) throw new RegistryError("REGISTRY_UNAUTHENTICATED");
    throw notFound(`${host}/${namespace}`, type);
  }

  #publishedProvider(scope: RegistryScope, namespace: string, type: string): OfferedProvider {
    const { registry } = this.#options;
    const recorded = async (version: string, options?: CallOptions) => {
      if (!isTypeName(type) || !isReleaseVersion(version)) return undefined;
      const name = `${namespace}/${type}/${version}`;
      const key = { origin: "published", account: scope.account, name } as const;
      return readRelease(registry, scope.region, key, options);
    };
    return {
      recorded,
      async versions(options) {
        if (!isTypeName(type)) return [];
        const tenancy = scopeTenancy(scope);
        const releases = await listReleases(registry, tenancy, namespace, type, options);
        return releases
          .filter(({ withdrawn, archives }) => !withdrawn && archives.length > 0)
          .map((release) => ({
            version: release.version,
            platforms: release.archives.map(({ platform }) => platform),
            protocols: protocolsOf(release),
            deprecation: release.deprecation,
          }))
          .toSorted(newestFirst);
      },
      async release(version, options) {
        const release = await recorded(version, options);
        return release?.withdrawn === false ? release : undefined;
      },
    };
  }

  #functionProvider(scope: RegistryScope, name: string): OfferedProvider {
    const { registry, functions } = this.#options;
    const release: OfferedProvider["release"] = async (version, options = {}) => {
      if (functions === undefined) return undefined;
      try {
        const found = await registry.showVersion(scope, { name, version }, options);
        return await functions.release(scope, found, options);
      } catch (error) {
        if (isRegistryError(error, "REGISTRY_VERSION_NOT_FOUND")) return undefined;
        if (isRegistryError(error, "REGISTRY_INVALID_FIELD")) return undefined;
        throw error;
      }
    };
    return {
      release,
      // A version of a function that is deleted leaves no release behind.
      recorded: release,
      async versions(options = {}) {
        const found: PrivateProviderVersion[] = [];
        let marker: string | undefined;
        do {
          const request = { limit: PAGE, marker };
          const page = await registry.listVersions(scope, { name }, request, options);
          found.push(...page.items);
          marker = page.next;
        } while (marker !== undefined);
        const offered = await Promise.all(
          found.map(async (version) => ({
            version: version.version,
            platforms: (await functions?.platforms(version, options)) ?? [],
            // The protocol of functions.
            protocols: ["5.0"],
            deprecation: "",
          })),
        );
        return offered.toSorted(newestFirst);
      },
    };
  }
}

/** Protocols that all archives of a release have in common are those of the first. */
function protocolsOf(release: Release): readonly string[] {
  const [first, ...others] = release.archives;
  return (first?.protocols ?? []).filter((protocol) =>
    others.every(({ protocols }) => protocols.includes(protocol)),
  );
}

function newestFirst(a: OfferedVersion, b: OfferedVersion): number {
  return Version.compareTotal(Version.parse(b.version), Version.parse(a.version));
}

function notFound(namespace: string, type: string): RegistryError {
  return new RegistryError(
    "REGISTRY_PROVIDER_NOT_FOUND",
    `there is no provider ${namespace}/${type} here`,
  );
}
