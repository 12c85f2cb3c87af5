import { byKey, type Collection, kind, type Runtime } from "@stackwright/krt";
import { PrivateProviderVersion, ProviderHealth } from "@stackwright/proto/stackwright";
import { decodeRecord, recordKind } from "../domain/record-kind.ts";
import type { FollowedKind } from "./follow-kind.ts";
import { placeKey } from "./stack-facts.ts";

const VERSION_KIND = recordKind("PrivateProviderVersion", PrivateProviderVersion);
const HEALTH_KIND = recordKind("ProviderHealth", ProviderHealth);

interface VersionFact {
  readonly key: string;
  readonly account: string;
  readonly region: string;
  /** UUID of the version. */
  readonly id: string;
  readonly provider: string;
  readonly version: string;
  readonly createdAtMs: number;
}

interface HealthFact {
  /** ACCOUNT/REGION/UUID of the version. */
  readonly key: string;
  readonly healthy: boolean;
  readonly problem: string;
}

/** A version of a private provider, with what the last check of its function found. */
export interface ProviderVersionStatus extends Omit<VersionFact, "key"> {
  /** ACCOUNT/REGION/UUID */
  readonly key: string;
  /** Undefined before the first check. */
  readonly healthy: boolean | undefined;
  /** Why it is not healthy. */
  readonly problem: string;
}

export const PROVIDER_VERSIONS: FollowedKind<VersionFact> = {
  name: "provider versions",
  type: VERSION_KIND.type,
  kind: kind<VersionFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { versionId, providerName, version, createTimeMs } = decodeRecord(VERSION_KIND, resource);
    const { partition: account, namespace: region } = resource.id.tenancy;
    return {
      key: placeKey(resource.id),
      account,
      region,
      id: versionId,
      provider: providerName,
      version,
      createdAtMs: Number(createTimeMs),
    };
  },
};

export const PROVIDER_HEALTH: FollowedKind<HealthFact> = {
  name: "provider health",
  type: HEALTH_KIND.type,
  kind: kind<HealthFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { healthy, problem } = decodeRecord(HEALTH_KIND, resource);
    return { key: placeKey(resource.id), healthy, problem };
  },
};

export function deriveProviderVersions(
  rt: Runtime,
  {
    versions,
    health,
  }: { readonly versions: Collection<VersionFact>; readonly health: Collection<HealthFact> },
): Collection<ProviderVersionStatus> {
  return rt.derive(
    versions,
    (ctx, { account, region, id, provider, version, createdAtMs }): ProviderVersionStatus => {
      const key = `${account}/${region}/${id}`;
      const found = ctx.fetchOne(health, byKey(key));
      const { healthy, problem = "" } = found ?? {};
      return { key, account, region, id, provider, version, createdAtMs, healthy, problem };
    },
    {
      name: "provider version status",
      kind: kind<ProviderVersionStatus>()({ key: ({ key }) => key }),
    },
  );
}
