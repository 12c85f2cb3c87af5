import { isEngineError } from "@stackwright/core/errors";
import { Account } from "@stackwright/proto/stackwright";
import {
  isStorageError,
  listResourceHeads,
  type ResourceHead,
  readStored,
  type StorageBackend,
} from "@stackwright/storage";
import { accountPlace } from "../domain/kinds-of-accounts.ts";
import { decodeRecord, typeUrlOf } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf, type TransactionParts } from "../queue/transaction.ts";

const KIND = SERVER_KINDS.account;

/** What is stored of an account. */
interface AccountRecord {
  /** Without details where nothing is stored, or what is stored cannot be read. */
  readonly message: Account;
  /** Undefined: nothing is stored, or the store cannot read it. */
  readonly generation: string | undefined;
  readonly isDamaged: boolean;
}

/** Reads the record of an account; damage of it is no error, so that the account can still be seen and deleted. */
export async function readAccount(
  storage: StorageBackend,
  account: string,
): Promise<AccountRecord> {
  const message = Account.create({ name: account });
  let generation: string | undefined;
  try {
    const found = await readStored(storage, "strong", idOf(KIND, accountPlace(account)));
    generation = found?.generation;
    return { message: found ? decodeRecord(KIND, found) : message, generation, isDamaged: false };
  } catch (error) {
    const isDamage =
      isStorageError(error, "STORAGE_CORRUPT") || isEngineError(error, "ENGINE_STATE_CORRUPT");
    if (!isDamage) throw error;
    return { message, generation, isDamaged: true };
  }
}

/** Puts a record that has the name alone in the place of a damaged one, and returns its generation. */
export async function replaceDamaged(
  { storage, token }: Pick<TransactionParts, "storage" | "token">,
  account: string,
): Promise<string> {
  const generation = token();
  const value = KIND.codec.encode(Account.create({ name: account })).finish();
  const { tenancy } = accountPlace(account);
  const found: Pick<ResourceHead, "id" | "version">[] = [];
  const onDamaged = (one: Pick<ResourceHead, "id" | "version">): void => void found.push(one);
  const heads = listResourceHeads(storage, "strong", KIND.type, tenancy, "", { onDamaged });
  for await (const head of heads) found.push(head);
  for (const { id, version } of found) {
    await storage.writeCAS({
      id: { ...id, type: KIND.type },
      version,
      generation,
      metadata: {},
      status: {},
      data: { typeUrl: typeUrlOf(KIND.type), value },
    });
  }
  return generation;
}
