import type { Tenancy } from "@stackwright/storage";
import { invalidField } from "../errors.ts";

/** Whose providers are meant: names are unique per account and region (seed 003). */
export interface RegistryScope {
  readonly account: string;
  readonly region: string;
}

const ACCOUNT = /^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/;
const REGION = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** Where the records of a scope are stored: partition = account, namespace = region. */
export function scopeTenancy(scope: RegistryScope): Tenancy {
  checkScope(scope);
  return { partition: scope.account, peerName: "local", namespace: scope.region };
}

/** Where records are stored that belong to no account. */
export const SYSTEM_TENANCY: Tenancy = Object.freeze({
  partition: "stackwright",
  peerName: "local",
  namespace: "registry",
});

/** Refuses what is no account or region: also the wildcards of the store. */
export function checkScope(scope: RegistryScope): void {
  checkAccount(scope.account);
  if (!REGION.test(scope.region)) {
    throw invalidField("region", "pattern", "a region has lower-case letters, digits and dashes");
  }
}

/** Refuses what is no account id. */
export function checkAccount(account: string): void {
  if (!ACCOUNT.test(account) || account === SYSTEM_TENANCY.partition) {
    throw invalidField("account", "pattern", "an account has 1 to 64 letters, digits and dashes");
  }
}
