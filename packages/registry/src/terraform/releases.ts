import type { ProviderRelease } from "@stackwright/proto/stackwright";
import type { CallOptions, Tenancy } from "@stackwright/storage";
import { FUNCTION_RELEASE_KIND, PUBLISHED_RELEASE_KIND } from "../domain/kinds.ts";
import type { RecordName, StoredRecord } from "../domain/record-store.ts";
import { scopeTenancy } from "../domain/scope.ts";
import type { Registry } from "../registry.ts";
import type { ReleaseKey } from "./file-tokens.ts";

/** An archive of a release. */
export interface ReleaseArchive {
  readonly platform: string;
  readonly filename: string;
  readonly sha256: string;
  readonly size: number;
  readonly h1: string;
  readonly protocols: readonly string[];
}

/** One version of a provider with its archives. */
export interface Release {
  readonly key: ReleaseKey;
  readonly version: string;
  /** In the order in which they came. */
  readonly archives: readonly ReleaseArchive[];
  readonly withdrawn: boolean;
  /** When it was withdrawn; 0 where that is not recorded. */
  readonly withdrawnAtMs: number;
  readonly deprecation: string;
}

export function releaseAt(region: string, key: ReleaseKey): RecordName<ProviderRelease> {
  return {
    kind: key.origin === "published" ? PUBLISHED_RELEASE_KIND : FUNCTION_RELEASE_KIND,
    tenancy: scopeTenancy({ account: key.account, region }),
    name: key.name,
  };
}

/** One release. */
export async function readRelease(
  registry: Registry,
  region: string,
  key: ReleaseKey,
  options: CallOptions = {},
): Promise<Release | undefined> {
  const stored = await registry.parts.records.read(releaseAt(region, key), options);
  return stored && releaseOf(key, stored);
}

/** The releases of a published provider, withdrawn ones included. */
export async function listReleases(
  registry: Registry,
  tenancy: Tenancy,
  namespace: string,
  type: string,
  options: CallOptions = {},
): Promise<readonly Release[]> {
  const prefix = `${namespace}/${type}/`;
  const found = await registry.parts.records.list(PUBLISHED_RELEASE_KIND, tenancy, prefix, options);
  return found.map((stored) =>
    releaseOf(
      { origin: "published", account: tenancy.partition, name: stored.resource.id.name },
      stored,
    ),
  );
}

export function releaseOf(
  key: ReleaseKey,
  { value }: Pick<StoredRecord<ProviderRelease>, "value">,
): Release {
  return {
    key,
    version: value.version,
    archives: value.archives.map((archive) => ({ ...archive, size: Number(archive.size) })),
    withdrawn: value.withdrawn,
    withdrawnAtMs: Number(value.withdrawTimeMs),
    deprecation: value.deprecation,
  };
}

/**
 * The list of checksums of a release's first archives, as the command reads it: digest, two spaces,
 * name. Always the same bytes for the same count.
 */
export function checksumList(release: Release, count: number): Buffer {
  const lines = release.archives
    .slice(0, count)
    .map(({ sha256, filename }) => `${sha256}  ${filename}\n`);
  return Buffer.from(lines.join(""));
}
