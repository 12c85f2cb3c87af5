import { createHash } from "node:crypto";
import { type Collection, kind, type Runtime } from "@stackwright/krt";
import { ProviderRelease } from "@stackwright/proto/stackwright";
import { PRIVATE_HOST, PRIVATE_NAMESPACE, ProviderAddress } from "@stackwright/provider-source";
import type { ProviderChangeName } from "../domain/provider-reaction.ts";
import { decodeRecord, recordKind } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { FollowedKind } from "./follow-kind.ts";
import type { ProviderVersionStatus } from "./provider-versions.ts";
import { placeKey } from "./stack-facts.ts";

/** Its records hold a message of another name. */
const RELEASE_KIND = recordKind("PublishedRelease", ProviderRelease);

/** What a registry of the server says of a version of a provider that concerns stacks. */
export interface ProviderChange {
  readonly key: string;
  /**
   * `published`: it is in a namespace of the server, which stacks of any account may use; `upstream`: of a mirrored registry; `private`: it lives
   * in a function.
   */
  readonly origin: "published" | "upstream" | "private";
  /** Whose record it is. */
  readonly account: string;
  /** NAMESPACE/TYPE, in any case the end of the source address. */
  readonly provider: string;
  /** Of its registry; empty where that is the server. */
  readonly host: string;
  readonly version: string;
  readonly change: ProviderChangeName;
  /** Differs for each time that it happens. */
  readonly mark: string;
}

const KIND = kind<ProviderChange>()({ key: ({ key }) => key });

/** Versions in the namespaces of the server. */
export const RELEASES: FollowedKind<ProviderChange> = {
  name: "published providers",
  type: RELEASE_KIND.type,
  kind: KIND,
  keyOf: (id) => `release ${placeKey(id)}`,
  project: (resource) => {
    const { namespace, type, version, withdrawn, withdrawTimeMs, deprecation } =
      RELEASE_KIND.codec.decode(resource.data?.value ?? new Uint8Array());
    const key = `release ${placeKey(resource.id)}`;
    const { partition: account } = resource.id.tenancy;
    const of = { key, origin: "published", account, host: "", version } as const;
    const provider = `${namespace}/${type}`;
    // A version that is to be used no more is no reason to change to it.
    const [change, mark] = withdrawn
      ? (["withdrawn", String(withdrawTimeMs)] as const)
      : deprecation === ""
        ? (["published", ""] as const)
        : (["deprecated", digestOf(deprecation)] as const);
    return { ...of, provider, change, mark };
  },
};

/** Versions of mirrored registries in quarantine. */
export const QUARANTINES: FollowedKind<ProviderChange> = {
  name: "providers in quarantine",
  type: SERVER_KINDS.upstreamVersion.type,
  kind: KIND,
  keyOf: (id) => `quarantine ${placeKey(id)}`,
  project: (resource) => {
    const { quarantinedAtMs } = decodeRecord(SERVER_KINDS.upstreamVersion, resource);
    if (quarantinedAtMs === 0n) return undefined;
    const { name, tenancy } = resource.id;
    const at = name.lastIndexOf("/");
    const { host, namespace, type } = ProviderAddress.parse(name.slice(0, at));
    const key = `quarantine ${placeKey(resource.id)}`;
    return {
      key,
      origin: "upstream",
      account: tenancy.partition,
      host,
      provider: `${namespace}/${type}`,
      version: name.slice(at + 1),
      change: "quarantined",
      mark: String(quarantinedAtMs),
    };
  },
};

/** What all registries of the server say of versions that concerns stacks which use them, or older ones. */
export function deriveProviderChanges(
  rt: Runtime,
  {
    recorded,
    versions,
  }: {
    readonly recorded: readonly Collection<ProviderChange>[];
    readonly versions: Collection<ProviderVersionStatus>;
  },
): Collection<ProviderChange> {
  const offered = rt.derive(
    versions,
    (_ctx, { account, provider, version, key }): ProviderChange => ({
      key: `version ${key}`,
      origin: "private",
      account,
      host: PRIVATE_HOST,
      provider: `${PRIVATE_NAMESPACE}/${provider}`,
      version,
      change: "published",
      mark: "",
    }),
    { name: "private provider versions", kind: KIND },
  );
  return rt.join([offered, ...recorded], { name: "provider changes", kind: KIND });
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
