import type { CredentialStore } from "@stackwright/registry";
import {
  listResourceHeads,
  type ResourceHead,
  type StorageBackend,
  WILDCARD,
} from "@stackwright/storage";
import { STACK_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";

interface KnownParts {
  readonly storage: StorageBackend;
  readonly credentials: Pick<CredentialStore, "list">;
}

/** What an account without credentials is known by. */
const SIGNS = [
  SERVER_KINDS.account.type,
  SERVER_KINDS.user.type,
  SERVER_KINDS.project.type,
  STACK_KIND.type,
];

/** The accounts of a server, by name: those that were made, and those that are there by their credentials, users, projects or stacks. */
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
  return [...names].toSorted();
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
  return false;
}
