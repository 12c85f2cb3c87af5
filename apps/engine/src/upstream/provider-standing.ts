import { ProviderAddress } from "@stackwright/provider-source";
import type { PublishedProviders } from "@stackwright/registry/terraform";
import type { ProviderStanding, ProviderVersion } from "../domain/registry-query.ts";
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
  /** Hosts for which the server offers what was published as a mirror of the network protocol. */
  readonly mirrorHosts: readonly string[];
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
  mirrorHosts,
}: StandingParts): FindStanding {
  return async (account, address, version) => {
    const { host, namespace, type } = address;
    const isOwn = ownHosts().includes(host);
    const isServed = isOwn || mirrorHosts.includes(host);
    const mirrored = isServed ? namespaces.get(namespace) : undefined;
    if (isServed && mirrored === undefined) {
      const found = await published.standing(account, { namespace, type }, version);
      if (found?.state === "offered") return { ...UNKNOWN, state: "usable" };
      if (found?.state === "withdrawn") return { ...UNKNOWN, ...found };
      // Under the host of another registry that one says to whom its namespaces belong.
      if (found?.state === "hidden" && isOwn) return { ...UNKNOWN, state: "hidden" };
    }
    // A host that the server serves may be one that it mirrors as well.
    const place = mirrored ?? { host, namespace };
    const upstream = mirror.address(place.host, place.namespace, type);
    if (upstream === undefined) return UNKNOWN;
    const quarantine = await mirror.quarantineOf(account, upstream, version);
    if (quarantine === undefined) return { ...UNKNOWN, state: "usable" };
    return { state: "quarantined", ...quarantine };
  };
}

/** The standing of a version by the source that a state or a lock file has; `unknown` for one that no registry has, such as of Pulumi. */
export async function standingOfSource(
  find: FindStanding | undefined,
  account: string,
  { source, version }: ProviderVersion,
): Promise<ProviderStanding> {
  const address = parsedAddress(source);
  return (address && (await find?.(account, address, version))) ?? UNKNOWN;
}

function parsedAddress(source: string): ProviderAddress | undefined {
  try {
    return ProviderAddress.parse(source);
  } catch {
    return undefined;
  }
}
