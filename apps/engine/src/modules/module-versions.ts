import type { ModuleVersion } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import {
  type ModuleName,
  moduleNameText,
  moduleOfRecord,
  modulePlace,
  newestFirst,
} from "./module-name.ts";

const KIND = SERVER_KINDS.moduleVersion;

/** A module with all of its versions, newest first, the withdrawn ones too. */
export interface StoredModule {
  readonly module: ModuleName;
  readonly versions: readonly ModuleVersion[];
}

/** The versions of a module, newest first, the withdrawn ones too; empty where there is no such module. */
export async function moduleVersions(
  storage: StorageBackend,
  account: string,
  module: ModuleName,
): Promise<readonly ModuleVersion[]> {
  const { tenancy, name } = modulePlace(account, module);
  const found = await storage.list("strong", KIND.type, tenancy, name);
  return found.map((resource) => decodeRecord(KIND, resource)).toSorted(newestFirst);
}

/** All modules of an account, by their names. */
export async function accountModules(
  storage: StorageBackend,
  account: string,
): Promise<readonly StoredModule[]> {
  const { tenancy, name } = modulePlace(account, undefined);
  const modules = new Map<string, { module: ModuleName; versions: ModuleVersion[] }>();
  for (const resource of await storage.list("strong", KIND.type, tenancy, name)) {
    const module = moduleOfRecord(resource.id.name);
    const key = moduleNameText(module);
    const entry = modules.get(key) ?? { module, versions: [] };
    entry.versions.push(decodeRecord(KIND, resource));
    modules.set(key, entry);
  }
  return [...modules]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { module, versions }]) => ({ module, versions: versions.toSorted(newestFirst) }));
}

/** One version. `not_found` where it was never published. */
export async function moduleVersion(
  parts: TransactionParts,
  account: string,
  module: ModuleName,
  version: string,
): Promise<ModuleVersion> {
  return transact(parts, async (tx) => {
    const row = await tx.find(KIND, modulePlace(account, module, version));
    if (row === undefined) throw noVersion(module, version);
    return row.message;
  });
}

/**
 * Withdraws a version: it is offered no longer, and its content is given up. Its number stays that of this content, which alone may be
 * published under it again. A version that is withdrawn already stays as it is; one without a reason gets the first that is given.
 */
export async function withdrawModule(
  parts: TransactionParts,
  account: string,
  module: ModuleName,
  { version, reason }: { readonly version: string; readonly reason: string },
): Promise<ModuleVersion> {
  return transact(parts, async (tx) => {
    const row = await tx.find(KIND, modulePlace(account, module, version));
    if (row === undefined) throw noVersion(module, version);
    if (row.message.withdrawnAtMs !== 0n) {
      if (row.message.withdrawnReason === "" && reason !== "") {
        tx.update(row, { withdrawnReason: reason });
      }
      return row.message;
    }
    tx.update(row, {
      archiveSha256: "",
      documentationSha256: "",
      withdrawnAtMs: BigInt(tx.nowMs),
      withdrawnReason: reason,
    });
    return row.message;
  });
}

function noVersion(module: ModuleName, version: string): ServerError {
  return new ServerError(
    "not_found",
    `there is no version ${version} of the module "${moduleNameText(module)}"`,
  );
}
