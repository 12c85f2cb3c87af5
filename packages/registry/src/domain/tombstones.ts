import type {
  PrivateProviderVersion as VersionMessage,
  VersionTombstone,
} from "@stackwright/proto/stackwright";
import type { CallOptions, Guard, Tenancy } from "@stackwright/storage";
import { RegistryError } from "../errors.ts";
import { tombstoneAt } from "./kinds.ts";
import type { RegistryParts } from "./parts.ts";
import { idOf, type RecordName } from "./record-store.ts";

/** The tombstone of a version, and where it stands. */
export function tombstoneOf(
  tenancy: Tenancy,
  version: VersionMessage,
  nowMs: number,
): { at: RecordName<VersionTombstone>; tombstone: VersionTombstone } {
  return {
    at: tombstoneAt(tenancy, version.providerName, version.version),
    tombstone: {
      providerName: version.providerName,
      version: version.version,
      versionId: version.versionId,
      functionUrn: version.functionUrn,
      deleteTimeMs: BigInt(nowMs),
    },
  };
}

/**
 * Guards under which a version may be created: that no tombstone of its number stands, or one of the
 * same function. Throws `REGISTRY_VERSION_RETIRED` for any other. None without the policy.
 */
export async function tombstoneGuards(
  parts: RegistryParts,
  tenancy: Tenancy,
  providerName: string,
  { version, functionUrn }: { readonly version: string; readonly functionUrn: string },
  options: CallOptions,
): Promise<readonly Guard[]> {
  if (!parts.policy.tombstones) return [];
  const at = tombstoneAt(tenancy, providerName, version);
  const stored = await parts.records.read(at, options);
  if (stored === undefined) return [{ id: idOf(at), version: "" }];
  if (stored.value.functionUrn !== functionUrn) {
    throw new RegistryError(
      "REGISTRY_VERSION_RETIRED",
      `version ${version} of "${providerName}" was another function before it was deleted; choose another number`,
    );
  }
  return [{ id: stored.resource.id, version: stored.resource.version }];
}
