import { createHash } from "node:crypto";
import type { ProviderUse } from "@stackwright/proto/stackwright";
import type { CallOptions, Tenancy } from "@stackwright/storage";
import { invalidField } from "../errors.ts";
import { providerAt, USE } from "./kinds.ts";
import type { RegistryParts } from "./parts.ts";
import { readProvider } from "./providers.ts";
import { deleteOperation, type RecordName, writeOperation } from "./record-store.ts";
import { type RegistryScope, scopeTenancy } from "./scope.ts";
import { retryCollisions } from "./turns.ts";
import { readVersion, type VersionName } from "./versions.ts";

/** Who needs a version, since when. */
export interface VersionUse {
  readonly version: string;
  readonly versionId: string;
  /** Opaque to the registry; the engine names stacks. */
  readonly user: string;
  readonly sinceMs: number;
}

/**
 * Notes that somebody needs a version. Harmless when repeated, and then costs one read. The provider's
 * record is replaced in the same step, unchanged, so that a deletion which did not see this use
 * collides with it.
 *
 * Throws `REGISTRY_PROVIDER_NOT_FOUND`, `REGISTRY_VERSION_NOT_FOUND`, `REGISTRY_ID_MISMATCH`.
 */
export async function recordUse(
  parts: RegistryParts,
  scope: RegistryScope,
  at: VersionName,
  user: string,
  options: CallOptions = {},
): Promise<void> {
  if (user === "" || user.length > 512) {
    throw invalidField("user", "pattern", "a user of a version has 1 to 512 characters");
  }
  const tenancy = scopeTenancy(scope);
  await retryCollisions(parts.scheduler, options.signal, async () => {
    const provider = await readProvider(parts, tenancy, at, options);
    const { value: version } = await readVersion(parts, tenancy, at, options);
    const useAt = nameOf(tenancy, version.providerId, at.version, user);
    const stored = await parts.records.read(useAt, options);
    if (stored?.value.versionId === version.versionId) return;
    const use: ProviderUse = {
      providerId: version.providerId,
      version: at.version,
      versionId: version.versionId,
      user,
      sinceMs: BigInt(parts.scheduler.wallMs()),
    };
    await parts.records.storage.batch(
      [
        writeOperation(providerAt(tenancy, at.name), provider.value, provider),
        writeOperation(useAt, use, stored),
      ],
      options,
    );
  });
}

/** Forgets a use. Harmless when there is none, or no such provider any more. */
export async function releaseUse(
  parts: RegistryParts,
  scope: RegistryScope,
  use: { readonly providerId: string; readonly version: string; readonly user: string },
  options: CallOptions = {},
): Promise<void> {
  const at = nameOf(scopeTenancy(scope), use.providerId, use.version, use.user);
  const stored = await parts.records.read(at, options);
  if (stored === undefined) return;
  await parts.records.storage.deleteCAS(stored.resource.id, stored.resource.version, options);
}

/** Who uses a provider, or one version of it; by version and name of the user. */
export async function listUses(
  parts: RegistryParts,
  scope: RegistryScope,
  providerId: string,
  version?: string,
  options: CallOptions = {},
): Promise<readonly VersionUse[]> {
  const prefix = `${providerId}/${version === undefined ? "" : `${version}/`}`;
  const found = await parts.records.list(USE, scopeTenancy(scope), prefix, options);
  return found
    .map(({ value }) => ({
      version: value.version,
      versionId: value.versionId,
      user: value.user,
      sinceMs: Number(value.sinceMs),
    }))
    .toSorted((a, b) => (a.version + a.user < b.version + b.user ? -1 : 1));
}

/** Forgets all uses of a provider, or of one version, that is gone. */
export async function dropUses(
  parts: RegistryParts,
  tenancy: Tenancy,
  providerId: string,
  version?: string,
): Promise<void> {
  const prefix = `${providerId}/${version === undefined ? "" : `${version}/`}`;
  const found = await parts.records.list(USE, tenancy, prefix);
  for (let at = 0; at < found.length; at += 32) {
    await parts.records.storage.batch(found.slice(at, at + 32).map(deleteOperation));
  }
}

function nameOf(
  tenancy: Tenancy,
  providerId: string,
  version: string,
  user: string,
): RecordName<ProviderUse> {
  const digest = createHash("sha256").update(user).digest("hex");
  return { kind: USE, tenancy, name: `${providerId}/${version}/${digest}` };
}
