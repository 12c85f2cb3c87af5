import { createHash } from "node:crypto";
import type { ProviderUse } from "@stackwright/proto/stackwright";
import type { BatchOperation, CallOptions, Tenancy } from "@stackwright/storage";
import { invalidField } from "../errors.ts";
import { checkProviderId, checkProviderVersion } from "./fields.ts";
import { USE_KIND } from "./kinds.ts";
import type { RequestContext } from "./model.ts";
import type { RegistryParts } from "./parts.ts";
import { readProvider } from "./providers.ts";
import { deleteOperation, type RecordName, writeOperation } from "./record-store.ts";
import { retryCollisions } from "./retry-collisions.ts";
import { type RegistryScope, scopeTenancy } from "./scope.ts";
import { passUses, readTurnstile } from "./use-turnstile.ts";
import { readVersion, type VersionName } from "./versions.ts";

/** Who needs a version, since when. */
export interface ProviderUsage {
  readonly version: string;
  readonly versionId: string;
  /** Opaque to the registry; the engine names stacks. */
  readonly user: string;
  readonly sinceMs: number;
  /** Access key or token that recorded it; empty for programs on the store. */
  readonly actor: string;
}

/** Options of a change of uses. */
export interface UseOptions extends CallOptions {
  /** Who asks; without it the change is not in the audit trail. */
  readonly context?: RequestContext | undefined;
}

/**
 * Records that a user needs a version. Repeating it costs one read. The turnstile of the provider's uses is written in
 * the same step, under a guard on the provider's record: a deletion that did not see this use collides with it, and so
 * does this use with a deletion that came first. Only uses are written, since a stack's token may write no other
 * records.
 *
 * Throws `REGISTRY_PROVIDER_NOT_FOUND`, `REGISTRY_VERSION_NOT_FOUND`, `REGISTRY_ID_MISMATCH`.
 */
export async function recordUsage(
  parts: RegistryParts,
  scope: RegistryScope,
  at: VersionName,
  user: string,
  { context, ...options }: UseOptions = {},
): Promise<void> {
  checkUser(user);
  const tenancy = scopeTenancy(scope);
  await retryCollisions(parts.clock, options.signal, async () => {
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
      sinceMs: BigInt(parts.clock.wallMs()),
      actor: context?.actor ?? "",
    };
    await parts.records.storage.batch(
      [
        await passUses(parts, tenancy, version.providerId, options),
        writeOperation(useAt, use, stored),
        ...noted(parts, tenancy, context, "use.record", use),
      ],
      { ...options, guards: [{ id: provider.resource.id, version: provider.resource.version }] },
    );
  });
}

/**
 * Deletes a use. Harmless when there is none, or when the provider was deleted. Throws `REGISTRY_INVALID_FIELD` for
 * names that no use can have.
 */
export async function deleteUsage(
  parts: RegistryParts,
  scope: RegistryScope,
  use: { readonly providerId: string; readonly version: string; readonly user: string },
  { context, ...options }: UseOptions = {},
): Promise<void> {
  checkProviderId(use.providerId);
  checkProviderVersion(use.version);
  checkUser(use.user);
  const tenancy = scopeTenancy(scope);
  const at = nameOf(tenancy, use.providerId, use.version, use.user);
  await retryCollisions(parts.clock, options.signal, async () => {
    const stored = await parts.records.read(at, options);
    if (stored === undefined) return;
    const { id, version } = stored.resource;
    await parts.records.storage.batch(
      [deleteOperation(stored), ...noted(parts, tenancy, context, "use.release", use)],
      // A deletion of something that is gone succeeds; only what was there may be in the audit trail.
      { ...options, guards: [{ id, version }] },
    );
  });
}

/** Who uses a provider, or one version of it; by version and name of the user. */
export async function listUsage(
  parts: RegistryParts,
  scope: RegistryScope,
  providerId: string,
  version?: string,
  options: CallOptions = {},
): Promise<readonly ProviderUsage[]> {
  const prefix = `${providerId}/${version === undefined ? "" : `${version}/`}`;
  const found = await parts.records.list(USE_KIND, scopeTenancy(scope), prefix, options);
  return found
    .map(({ value }) => ({
      version: value.version,
      versionId: value.versionId,
      user: value.user,
      sinceMs: Number(value.sinceMs),
      actor: value.actor,
    }))
    .toSorted((a, b) => (a.version + a.user < b.version + b.user ? -1 : 1));
}

/** Forgets all uses of a provider, or of one version, that is gone. */
export async function deleteUsageRecords(
  parts: RegistryParts,
  tenancy: Tenancy,
  providerId: string,
  version?: string,
): Promise<void> {
  const prefix = `${providerId}/${version === undefined ? "" : `${version}/`}`;
  const uses = await parts.records.list(USE_KIND, tenancy, prefix);
  const turnstile =
    version === undefined ? await readTurnstile(parts, tenancy, providerId) : undefined;
  const found = turnstile === undefined ? uses : [...uses, turnstile];
  for (let at = 0; at < found.length; at += 32) {
    await parts.records.storage.batch(found.slice(at, at + 32).map(deleteOperation));
  }
}

function checkUser(user: string): void {
  if (user === "" || user.length > 512) {
    throw invalidField("user", "pattern", "a user of a version has 1 to 512 characters");
  }
}

/** The entry of a change of uses in the audit trail, where it is known who asks. */
function noted(
  parts: RegistryParts,
  tenancy: Tenancy,
  context: RequestContext | undefined,
  action: string,
  use: { readonly providerId: string; readonly version: string; readonly user: string },
): readonly BatchOperation[] {
  if (context === undefined) return [];
  const { providerId, version, user } = use;
  return [
    parts.audit.entry(tenancy, context, { action, target: user, details: { providerId, version } }),
  ];
}

function nameOf(
  tenancy: Tenancy,
  providerId: string,
  version: string,
  user: string,
): RecordName<ProviderUse> {
  const digest = createHash("sha256").update(user).digest("hex");
  return { kind: USE_KIND, tenancy, name: `${providerId}/${version}/${digest}` };
}
