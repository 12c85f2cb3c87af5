import { isEngineError } from "@stackwright/core/errors";
import { RegistryNamespace } from "@stackwright/proto/stackwright";
import {
  listResourceHeads,
  type Resource,
  type StorageBackend,
  tenancyOf,
  WILDCARD,
} from "@stackwright/storage";
import { CONTENTS_OF_ACCOUNTS } from "../domain/kinds-of-accounts.ts";
import { decodeRecord, type RecordKind, recordKind } from "../domain/record-kind.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable } from "../queue/list-readable.ts";

/** All accounts share the namespaces of published providers, so that these lie with the server. */
const NAMESPACE = recordKind("RegistryNamespace", RegistryNamespace);

/** Of the kinds whose records stay when what they list is taken out: whether that was done. One that cannot be read counts. */
const EMPTIED: ReadonlyMap<string, (record: Resource) => boolean> = new Map([
  emptiedWhen(SERVER_KINDS.hooks, ({ hooks }) => hooks.length === 0),
  emptiedWhen(SERVER_KINDS.notificationSettings, ({ destinations }) => destinations.length === 0),
]);

/** How many things of a kind users have made in an account. */
interface AccountContent {
  readonly what: string;
  readonly count: number;
}

/** What is in an account beside its users and credentials; what is damaged counts as well. */
export async function accountContents(
  storage: StorageBackend,
  account: string,
  signal?: AbortSignal,
): Promise<readonly AccountContent[]> {
  const where = { partition: account, peerName: WILDCARD, namespace: WILDCARD };
  const found: AccountContent[] = [];
  for (const { type, what } of CONTENTS_OF_ACCOUNTS) {
    let count = 0;
    const onDamaged = (): void => {
      count += 1;
    };
    const isEmptied = EMPTIED.get(type.kind);
    if (isEmptied === undefined) {
      const heads = listResourceHeads(storage, "strong", type, where, "", { signal, onDamaged });
      for await (const _head of heads) count += 1;
    } else {
      const all = await storage.list("strong", type, where, "", { signal, onDamaged });
      count += all.filter((one) => !isEmptied(one)).length;
    }
    if (count > 0) found.push({ what, count });
  }
  const owners = await ownersOfNamespaces(storage, signal);
  const count = owners.filter((owner) => owner === account).length;
  if (count > 0) found.push({ what: "namespaces of published providers", count });
  return found;
}

/** The account of each namespace of published providers. */
export async function ownersOfNamespaces(
  storage: StorageBackend,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const shared = tenancyOf({ kind: "credentials" });
  const namespaces = await listReadable(storage, NAMESPACE, shared, {
    signal,
    onDamaged: () => undefined,
  });
  return namespaces.map(({ message }) => message.account);
}

/** `not_empty`, with what is left, for an account that has something. */
export async function requireEmptyAccount(storage: StorageBackend, account: string): Promise<void> {
  const contents = await accountContents(storage, account);
  if (contents.length > 0) throw notEmpty(account, contents);
}

/** The refusal of what needs an account in which nothing is. */
export function notEmpty(account: string, contents: readonly AccountContent[]): ServerError {
  const left = contents.map(({ what, count }) => `${what}: ${count}`).join(", ");
  return new ServerError("not_empty", `the account "${account}" has ${left}`);
}

function emptiedWhen<M>(
  kind: RecordKind<M>,
  isEmpty: (message: M) => boolean,
): readonly [string, (record: Resource) => boolean] {
  const isEmptied = (record: Resource): boolean => {
    try {
      return isEmpty(decodeRecord(kind, record));
    } catch (error) {
      if (!isEngineError(error, "ENGINE_STATE_CORRUPT")) throw error;
      return false;
    }
  };
  return [kind.type.kind, isEmptied];
}
