import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { requireRoom } from "../queue/require-room.ts";
import type { Transaction, TransactionParts } from "../queue/transaction.ts";
import { accountTenancy } from "./access-places.ts";

/** Users of an account, disabled ones among them. */
const MAX_USERS = 10_000;

/** Refuses one more user where an account has as many as may be; otherwise it is created by the same transaction. */
export async function requireUserRoom(
  parts: Pick<TransactionParts, "storage">,
  tx: Transaction,
  account: string,
  most = MAX_USERS,
): Promise<void> {
  const tenancy = accountTenancy(account);
  const detail = `an account has at most ${most} users`;
  await requireRoom(parts, tx, { kind: SERVER_KINDS.user, tenancy, most, detail });
}
