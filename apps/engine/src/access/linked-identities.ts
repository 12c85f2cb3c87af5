import type { User, UserIdentity } from "@stackwright/proto/stackwright";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { TransactionParts } from "../queue/transaction.ts";
import { accountTenancy } from "./access-places.ts";

/** An identity with the name of its record. */
export interface LinkedIdentity extends UserIdentity {
  readonly id: string;
}

type ListParts = Pick<TransactionParts, "storage">;

/** The identities of a user. */
export async function listIdentities(
  { storage }: ListParts,
  account: string,
  user: string,
): Promise<readonly LinkedIdentity[]> {
  const kind = SERVER_KINDS.userIdentity;
  const stored = await storage.list("strong", kind.type, accountTenancy(account), "");
  return stored
    .map((one) => ({ ...decodeRecord(kind, one), id: one.id.name }))
    .filter((one) => one.user === user);
}

/**
 * The user that was made for an address of mail before its first sign-in: it has no identity yet, so that none of those who sign in
 * already is taken over. Undefined where that is none, or more than one.
 */
export async function userAwaiting(
  parts: ListParts,
  account: string,
  email: string,
): Promise<string | undefined> {
  const kind = SERVER_KINDS.user;
  const stored = await parts.storage.list("strong", kind.type, accountTenancy(account), "");
  const wanted = email.toLowerCase();
  const found = stored
    .map((one): User => decodeRecord(kind, one))
    // Those who sign in already keep none of them from it, whatever address they have.
    .filter((one) => !one.service && one.issuer === "" && one.email.toLowerCase() === wanted);
  const [user, ...others] = found;
  if (wanted === "" || user === undefined || others.length > 0) return undefined;
  const identities = await listIdentities(parts, account, user.name);
  return identities.length === 0 ? user.name : undefined;
}
