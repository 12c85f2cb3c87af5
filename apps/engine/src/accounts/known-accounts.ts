import type { CredentialStore } from "@stackwright/registry";
import {
  listResourceHeads,
  type ResourceHead,
  type ResourceType,
  type StorageBackend,
  WILDCARD,
} from "@stackwright/storage";
import { CONTENTS_OF_ACCOUNTS } from "../domain/kinds-of-accounts.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { ownersOfNamespaces } from "./account-contents.ts";
import { isAccountName } from "./account-name.ts";

interface KnownParts {
  readonly storage: StorageBackend;
  readonly credentials: Pick<CredentialStore, "list">;
}

/** What an account without credentials is known by: whatever would be of the next one that has its name. */
const SIGNS: readonly ResourceType[] = [
  SERVER_KINDS.account.type,
  SERVER_KINDS.user.type,
  SERVER_KINDS.team.type,
  SERVER_KINDS.roleBinding.type,
  ...CONTENTS_OF_ACCOUNTS.map(({ type }) => type),
];

/** The accounts of a server, by name: those that were made, and those that are there by their credentials, users or what is in them. */
export async function listAccountNames(
  { storage, credentials }: KnownParts,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const names = new Set((await credentials.list()).map(({ account }) => account));
  const note = ({ id }: Pick<ResourceHead, "id">): void => void names.add(id.tenancy.partition);
  const anywhere = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
  for (const type of SIGNS) {
    const options = { signal, onDamaged: note };
    for await (const head of listResourceHeads(storage, "strong", type, anywhere, "", options)) {
      note(head);
    }
  }
  for (const owner of await ownersOfNamespaces(storage, signal)) names.add(owner);
  return [...names].filter(isAccountName).toSorted();
}

/** Whether there is an account of a name. */
export async function isKnownAccount(
  { storage, credentials }: KnownParts,
  account: string,
): Promise<boolean> {
  if ((await credentials.list(account)).length > 0) return true;
  const where = { partition: account, peerName: WILDCARD, namespace: WILDCARD };
  for (const type of SIGNS) {
    let isDamaged = false;
    const onDamaged = (): void => {
      isDamaged = true;
    };
    const heads = listResourceHeads(storage, "strong", type, where, "", { onDamaged });
    if ((await heads.next()).done !== true || isDamaged) return true;
  }
  return (await ownersOfNamespaces(storage)).includes(account);
}
