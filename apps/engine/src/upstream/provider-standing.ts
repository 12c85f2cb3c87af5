import type { ProviderAddress } from "@stackwright/provider-source";
import type { PublishedProviders } from "@stackwright/registry/terraform";
import type { ProviderStanding } from "../domain/registry-query.ts";
import type { UpstreamMirror } from "./upstream-mirror.ts";
import type { UpstreamNamespace } from "./upstream-names.ts";

/** Says whether an account may still use a version of a provider. */
export type FindStanding = (
  account: string,
  address: ProviderAddress,
  version: string,
) => Promise<ProviderStanding>;

interface StandingParts {
  readonly published: Pick<PublishedProviders, "standing">;
  readonly mirror: Pick<UpstreamMirror, "address" | "quarantineOf">;
  readonly namespaces: ReadonlyMap<string, UpstreamNamespace>;
  /** Hosts that mean the registry of the server. */
  readonly ownHosts: () => readonly string[];
}

const UNKNOWN: ProviderStanding = { state: "unknown", sinceMs: 0, reason: "" };

/**
 * The standing of versions from the records of the server alone: no other registry is asked, so that one that is away stops no run. A
 * version of a mirrored registry is in quarantine under each of its addresses, that of the upstream namespace and its own.
 */
export function providerStandings({
  published,
  mirror,
  namespaces,
  ownHosts,
}: StandingParts): FindStanding {
  return async (account, address, version) => {
    const { host, namespace, type } = address;
    const isOwn = ownHosts().includes(host);
    const place = isOwn ? namespaces.get(namespace) : { host, namespace };
    if (place === undefined) {
      const found = await published.standing(account, { namespace, type }, version);
      if (found === undefined) return UNKNOWN;
      if (found.state === "offered") return { ...UNKNOWN, state: "usable" };
      return { state: "withdrawn", sinceMs: found.sinceMs, reason: "" };
    }
    const upstream = mirror.address(place.host, place.namespace, type);
    if (upstream === undefined) return UNKNOWN;
    const quarantine = await mirror.quarantineOf(account, upstream, version);
    if (quarantine === undefined) return { ...UNKNOWN, state: "usable" };
    return { state: "quarantined", ...quarantine };
  };
}
