import {
  checkAccount as checkAccountName,
  isStorageError,
  type Tenancy,
  tenancyOf,
} from "@stackwright/storage";
import { invalidField } from "../errors.ts";

/** Whose providers are meant: names are unique per account and region (seed 003). */
export interface RegistryScope {
  readonly account: string;
  readonly region: string;
}

/** Where the records of a scope are stored: partition = account, namespace = region. */
export function scopeTenancy({ account, region }: RegistryScope): Tenancy {
  return named(() => tenancyOf({ kind: "region", account, region }));
}

/** Where records are stored that belong to no account. */
export const SYSTEM_TENANCY: Tenancy = tenancyOf({ kind: "credentials" });

/** Refuses what is no account id. */
export function checkAccount(account: string): void {
  named(() => checkAccountName(account));
}

/** The rules for names are those of the store; the errors are those of the registry. */
function named<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!isStorageError(error, "STORAGE_INVALID_ARGUMENT")) throw error;
    throw invalidField(error.details.field ?? "account", "pattern", error.message);
  }
}
