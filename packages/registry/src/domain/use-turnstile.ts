import type { ProviderUse } from "@stackwright/proto/stackwright";
import type { BatchOperation, CallOptions, Tenancy } from "@stackwright/storage";
import { USE_KIND } from "./kinds.ts";
import type { RegistryParts } from "./parts.ts";
import { type RecordName, type StoredRecord, writeOperation } from "./record-store.ts";

/**
 * The write of a provider's turnstile: a record of the kind of uses that every new use and every deletion replaces, so
 * that the two exclude one another. Read it before the uses are listed.
 */
export async function passUses(
  parts: RegistryParts,
  tenancy: Tenancy,
  providerId: string,
  options: CallOptions,
): Promise<BatchOperation> {
  const stored = await readTurnstile(parts, tenancy, providerId, options);
  const turnstile: ProviderUse = {
    providerId,
    version: "",
    versionId: "",
    user: "",
    sinceMs: 0n,
    actor: "",
  };
  return writeOperation(turnstileAt(tenancy, providerId), turnstile, stored);
}

/** The turnstile of a provider, once it has had a use or a deletion. */
export async function readTurnstile(
  parts: RegistryParts,
  tenancy: Tenancy,
  providerId: string,
  options: CallOptions = {},
): Promise<StoredRecord<ProviderUse> | undefined> {
  return parts.records.read(turnstileAt(tenancy, providerId), options);
}

function turnstileAt(tenancy: Tenancy, providerId: string): RecordName<ProviderUse> {
  return { kind: USE_KIND, tenancy, name: `~${providerId}` };
}

/** Whether a record of the kind of uses is a turnstile: a use has a user. */
export function isTurnstile({ user }: ProviderUse): boolean {
  return user === "";
}
