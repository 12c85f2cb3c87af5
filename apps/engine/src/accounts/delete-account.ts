import { sleep } from "@stackwright/base/clock";
import type { Account } from "@stackwright/proto/stackwright";
import { type CredentialStore, isRegistryError } from "@stackwright/registry";
import {
  type Guard,
  isStorageError,
  listResourceHeads,
  type ResourceHead,
  type StorageBackend,
  tenancyOf,
  WILDCARD,
} from "@stackwright/storage";
import { accountPlace, KINDS_GONE_WITH_ACCOUNTS } from "../domain/kinds-of-accounts.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable } from "../queue/list-readable.ts";
import {
  type StoredRow,
  type Transaction,
  type TransactionParts,
  transact,
} from "../queue/transaction.ts";
import { accountContents, notEmpty, requireEmptyAccount } from "./account-contents.ts";
import { readAccount, replaceDamaged } from "./account-record.ts";
import { isKnownAccount } from "./known-accounts.ts";

// Invariants:
// - The record of the account says that it is being deleted before anything of it is removed, and goes last: what an interruption leaves is seen
//   in the list of accounts, and another deletion removes the rest. While it says so, the account gets no credential by the routes of accounts.
// - Credentials and users go before it is looked for the second time whether anything is in the account, and no earlier than a server of the store may
//   still know them: who could make something in the account has done so by then.
// - A deletion removes nothing after another one has begun: the later one ends it, and what has the name afterwards is another account.

const KIND = SERVER_KINDS.account;
/** How long other servers may know a credential or a user that is gone. */
const KNOWN_MS = 2_000;
/** How often a kind is looked through, as a record may be written meanwhile. */
const PASSES = 3;
/** Removals at the same time. */
const AT_ONCE = 16;
/** What lets its holders into an account, beside credentials. */
const OF_ACCESS: ReadonlySet<string> = new Set(["LoginSession", "RoleBinding", "Team", "User"]);

interface DeletionParts extends TransactionParts {
  readonly credentials: Pick<CredentialStore, "list" | "revoke">;
}

/**
 * Removes an account in which nothing is left, with its users, teams, roles and credentials; a further call ends what was interrupted.
 * `requireMatch` refuses a generation that the caller has not seen; undefined: the account has no record. `not_found`; `not_empty` with
 * what is left; `conflict` where another deletion of it began meanwhile.
 */
export async function deleteAccount(
  parts: DeletionParts,
  account: string,
  requireMatch: (generation: string | undefined) => void,
): Promise<void> {
  const { storage } = parts;
  if (!(await isKnownAccount(parts, account))) {
    throw new ServerError("not_found", `there is no account "${account}"`);
  }
  // The entry of the audit trail is in the step that ends the deletion.
  const unaudited = { ...parts, companion: undefined };
  const match = await matchOf(parts, account, requireMatch);
  const mark = await markDeletion(unaudited, account, match);
  /** What is removed has to be of this deletion still: of a later account of the name nothing is. */
  const guard = async (): Promise<Guard> => {
    const { resource } = await transact(unaudited, async (tx) => requireMarked(tx, account, mark));
    return { id: resource.id, version: resource.version };
  };
  const removeAll = async (isChosen: (kind: string) => boolean): Promise<void> => {
    await guard();
    await revokeAll(parts, account);
    await removeDeviceLogins(storage, account, await guard());
    await removeKinds(storage, account, { isChosen, guard: await guard() });
  };
  await removeAll((kind) => OF_ACCESS.has(kind));
  await sleep(parts.clock, KNOWN_MS);
  await guard();
  try {
    await requireEmptyAccount(storage, account);
  } catch (error) {
    await transact(unaudited, async (tx) => {
      const row = await tx.find(KIND, accountPlace(account));
      if (row !== undefined && isMarked(row, mark)) tx.update(row, { deletingAtMs: 0n });
    });
    throw error;
  }
  // Those that were made in the meantime by another one with the role.
  await removeAll(() => true);
  await transact(parts, async (tx) => tx.remove(await requireMarked(tx, account, mark)));
}

/** What a record has to be for the deletion: a damaged one is replaced before by one that can say of it. */
async function matchOf(
  parts: DeletionParts,
  account: string,
  requireMatch: (generation: string | undefined) => void,
): Promise<(generation: string | undefined) => void> {
  const { generation: former, isDamaged } = await readAccount(parts.storage, account);
  if (!isDamaged) return requireMatch;
  requireMatch(former);
  await requireEmptyAccount(parts.storage, account);
  const replaced = await replaceDamaged(parts, account);
  return (generation) => {
    if (generation !== replaced) {
      throw new ServerError("conflict", `the account "${account}" was changed meanwhile`);
    }
  };
}

/** What a record says of the deletion that began last; no two have the same. */
interface DeletionMark {
  readonly uid: string;
  readonly atMs: bigint;
}

/** Says in the record of an account that it is being deleted, or no longer where something is in it. */
async function markDeletion(
  parts: DeletionParts,
  account: string,
  requireMatch: (generation: string | undefined) => void,
): Promise<DeletionMark> {
  const begun = await transact(parts, async (tx) => {
    const empty = () => KIND.codec.decode(new Uint8Array());
    const row = await tx.findOrNew(KIND, accountPlace(account), empty);
    requireMatch(row.resource?.generation);
    const former = row.message.deletingAtMs;
    const contents = await accountContents(parts.storage, account);
    if (contents.length > 0) {
      if (former > 0n) tx.update(row, { deletingAtMs: 0n });
      return { contents };
    }
    const nowMs = BigInt(tx.nowMs);
    const atMs = nowMs > former ? nowMs : former + 1n;
    tx.update(row, { name: account, deletingAtMs: atMs });
    return { uid: row.resource?.id.uid ?? tx.generation, atMs };
  });
  if ("contents" in begun) throw notEmpty(account, begun.contents);
  return begun;
}

function isMarked({ resource, message }: StoredRow<Account>, { uid, atMs }: DeletionMark): boolean {
  return resource.id.uid === uid && message.deletingAtMs === atMs;
}

/** The record of an account whose deletion is still that of the mark; `conflict` where another one has taken it over or ended it. */
async function requireMarked(
  tx: Transaction,
  account: string,
  mark: DeletionMark,
): Promise<StoredRow<Account>> {
  const row = await tx.find(KIND, accountPlace(account));
  if (row !== undefined && isMarked(row, mark)) return row;
  throw new ServerError("conflict", `another deletion of the account "${account}" began meanwhile`);
}

async function revokeAll(
  { credentials }: Pick<DeletionParts, "credentials">,
  account: string,
): Promise<void> {
  for (const { actor } of await credentials.list(account)) {
    try {
      await credentials.revoke(actor);
    } catch (error) {
      // It is revoked already.
      if (!isRegistryError(error, "REGISTRY_NOT_FOUND")) throw error;
    }
  }
}

/** Removes what commands wait for that a user of the account agreed to: the next one of the name would give it to them. */
async function removeDeviceLogins(
  storage: StorageBackend,
  account: string,
  guard: Guard,
): Promise<void> {
  const kind = SERVER_KINDS.deviceLogin;
  const site = tenancyOf({ kind: "site" });
  const found = await listReadable(storage, kind, site, { onDamaged: () => undefined });
  for (const { id, version, message } of found) {
    if (message.account === account) await remove(storage, { id, version }, guard);
  }
}

/** Removes what goes with an account, of the kinds that are chosen. */
async function removeKinds(
  storage: StorageBackend,
  account: string,
  { isChosen, guard }: { readonly isChosen: (kind: string) => boolean; readonly guard: Guard },
): Promise<void> {
  const where = { partition: account, peerName: WILDCARD, namespace: WILDCARD };
  for (const type of KINDS_GONE_WITH_ACCOUNTS.filter(({ kind }) => isChosen(kind))) {
    for (let pass = 1; pass <= PASSES; pass += 1) {
      let found: Pick<ResourceHead, "id" | "version">[] = [];
      const removeFound = async (): Promise<void> => {
        await Promise.all(found.map(async (one) => remove(storage, one, guard)));
        found = [];
      };
      let isEmpty = true;
      const note = async ({ id, version }: Pick<ResourceHead, "id" | "version">): Promise<void> => {
        isEmpty = false;
        found.push({ id: { ...id, type }, version });
        if (found.length >= AT_ONCE) await removeFound();
      };
      const damaged: Pick<ResourceHead, "id" | "version">[] = [];
      const options = {
        onDamaged: (one: Pick<ResourceHead, "id" | "version">) => void damaged.push(one),
      };
      for await (const head of listResourceHeads(storage, "strong", type, where, "", options)) {
        await note(head);
      }
      for (const one of damaged) await note(one);
      await removeFound();
      if (isEmpty) break;
    }
  }
}

async function remove(
  storage: StorageBackend,
  { id, version }: Pick<ResourceHead, "id" | "version">,
  guard: Guard,
): Promise<void> {
  try {
    await storage.batch([{ kind: "delete", id, version }], { guards: [guard] });
  } catch (error) {
    if (isStorageError(error, "STORAGE_GUARD_FAILED")) {
      throw new ServerError("conflict", "the account was changed during its deletion");
    }
    // It was written meanwhile, and is found again.
    if (!isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw error;
  }
}
