import { accountTenancy } from "../access/access-places.ts";
import type { Place } from "../domain/run-places.ts";

/** Where a receiver of the audit trail of an account is. */
export function auditWebhookPlace(account: string, name: string): Place {
  return { tenancy: accountTenancy(account), name };
}
