import type { ProviderUse } from "@stackwright/proto/stackwright";
import type { BatchOperation, CallOptions, Tenancy } from "@stackwright/storage";
import { USE } from "./kinds.ts";
import type { RegistryParts } from "./parts.ts";
import { writeOperation } from "./record-store.ts";

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
  const at = { kind: USE, tenancy, name: `~${providerId}` };
  const stored = await parts.records.read(at, options);
  const turnstile: ProviderUse = {
    providerId,
    version: "",
    versionId: "",
    user: "",
    sinceMs: 0n,
    actor: "",
  };
  return writeOperation(at, turnstile, stored);
}

/** Whether a record of the kind of uses is a turnstile: a use has a user. */
export function isTurnstile({ user }: ProviderUse): boolean {
  return user === "";
}
