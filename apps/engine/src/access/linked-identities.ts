import type { Logger } from "@stackwright/base/logger";
import type { UserIdentity } from "@stackwright/proto/stackwright";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import type { TransactionParts } from "../queue/transaction.ts";
import { accountTenancy } from "./access-places.ts";

/** An identity with the name of its record. */
export interface LinkedIdentity extends UserIdentity {
  readonly id: string;
}

type ListParts = Pick<TransactionParts, "storage"> & { readonly logger?: Logger | undefined };

/** The identities of a user. One whose record is damaged signs no user in, and is left out. */
export async function listIdentities(
  { storage, logger }: ListParts,
  account: string,
  user: string,
): Promise<readonly LinkedIdentity[]> {
  const onDamaged = logDamaged(logger);
  const tenancy = accountTenancy(account);
  const found = await listReadable(storage, SERVER_KINDS.userIdentity, tenancy, { onDamaged });
  return found
    .map(({ id, message }) => ({ ...message, id: id.name }))
    .filter((one) => one.user === user);
}

/**
 * The user that was made for an address of mail before its first sign-in: it has no identity yet, so that none of those who sign in
 * already is taken over. Undefined where that is none, or more than one. `unprocessable` where there is one and a record is damaged: of a user
 * with the same address, or of the identity that this one has already.
 */
export async function userAwaiting(
  { storage, logger }: ListParts,
  account: string,
  email: string,
): Promise<string | undefined> {
  const damaged: string[] = [];
  const log = logDamaged(logger);
  const tenancy = accountTenancy(account);
  const list = async <M>(kind: Parameters<typeof listReadable<M>>[1]) =>
    listReadable(storage, kind, tenancy, {
      onDamaged: (id, reason) => {
        log(id, reason);
        damaged.push(`${id.type.kind} "${id.name}"`);
      },
    });
  const wanted = email.toLowerCase();
  const found = (await list(SERVER_KINDS.user))
    .map(({ message }) => message)
    // Those who sign in already keep none of them from it, whatever address they have.
    .filter((one) => !one.service && one.issuer === "" && one.email.toLowerCase() === wanted);
  const [user, ...others] = found;
  if (wanted === "" || user === undefined || others.length > 0) return undefined;
  const identities = await list(SERVER_KINDS.userIdentity);
  if (identities.some(({ message }) => message.user === user.name)) return undefined;
  if (damaged.length === 0) return user.name;
  throw new ServerError(
    "unprocessable",
    `the user "${user.name}" waits for its first sign-in with this address, but which users sign in with it cannot be known: the record ${damaged.join(", ")} is damaged; ` +
      "an operator of the store sees it by `stackwright admin damaged list`",
  );
}
