import type { StackReference } from "@stackwright/core";
import type { StorageBackend } from "@stackwright/storage";
import type { RegistryAnswer, RegistryQuery } from "../domain/registry-query.ts";
import { moduleVersions } from "../modules/module-versions.ts";

/** Characters of a reason that a run is shown. */
const MAX_REASON = 1_000;

/** What the registry of private modules of an account has, for a run of one of its stacks. */
export async function readRegistry(
  { storage }: { readonly storage: StorageBackend },
  { account }: StackReference,
  { namespace, name, system }: RegistryQuery,
): Promise<RegistryAnswer> {
  const all = await moduleVersions(storage, account, { namespace, name, system });
  return {
    versions: all
      .filter(({ withdrawnAtMs }) => withdrawnAtMs === 0n)
      .map(({ version, archiveSha256 }) => ({ version, archiveSha256 })),
    withdrawn: all
      .filter(({ withdrawnAtMs }) => withdrawnAtMs !== 0n)
      .map(({ version, withdrawnReason }) => ({
        version,
        reason: withdrawnReason.slice(0, MAX_REASON),
      })),
  };
}
