import {
  accountSetKeys,
  keysId,
  type StackCipher,
  type StackReference,
  type StoredKeys,
  variableSetKeys,
} from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { StackKeys } from "@stackwright/proto/stackwright";
import { recordKind } from "../domain/record-kind.ts";
import type { Transaction } from "./transaction.ts";

// A secret is encrypted in the transaction that writes it, with the data keys as that transaction reads them, or with a first one that it
// writes as well. So a deletion of the project, which removes both, leaves no keys without secrets and no secrets without their keys.

/** What a project has secrets of, and where the data keys of these are. Ids of stacks are ULIDs, so that no stack has one of the names. */
const KEYS_OF = Object.freeze({
  "vcs connection": "vcs-connections",
  "notification destination": "notifications",
  "drift hook": "drift-hooks",
  "set variable": variableSetKeys({ account: "", project: "" }).stack,
});

const OF_ACCOUNT = "account set variable";

/** What has secrets: something of a project, or the variable sets of an account. */
type SecretHolder =
  | {
      readonly account: string;
      readonly project: string;
      readonly of: keyof typeof KEYS_OF;
    }
  | { readonly account: string; readonly of: typeof OF_ACCOUNT };

/** What a secret belongs to. */
export type SecretOwner = SecretHolder & {
  /** Its id, and further names that tell its secrets apart. */
  readonly path: readonly string[];
};

const KIND = recordKind("StackKeys", StackKeys);

/** Encrypts a secret, tied to its owner, which the same transaction writes. */
export async function sealProjectSecret(
  tx: Transaction,
  keys: StoredKeys,
  owner: SecretOwner,
  plain: string | Uint8Array,
): Promise<Buffer> {
  const reference = keysOf(owner);
  const row = await tx.findOrNew(KIND, keysId(reference), () => StackKeys.create());
  const { cipher, stored } = keys.withFirst(reference, row.message);
  if (row.resource === undefined) tx.update(row, stored);
  else tx.guard({ id: row.resource.id, version: row.resource.version });
  return Buffer.from(cipher.seal(Buffer.from(plain), contextOf(owner)));
}

/** Decrypts secrets of what a project or an account has. Makes no keys: where they are gone, so are the secrets. `ENGINE_KEY_UNAVAILABLE`, also without keys. */
export async function projectCipher(
  keys: StoredKeys,
  holder: SecretHolder,
): Promise<(path: readonly string[], sealed: Uint8Array) => Buffer> {
  const cipher: StackCipher | undefined = await keys.load(keysOf(holder));
  if (cipher === undefined) {
    const { account, of } = holder;
    const what =
      holder.of === OF_ACCOUNT ? `the account ${account}` : `the project ${holder.project}`;
    throw new EngineError(
      "ENGINE_KEY_UNAVAILABLE",
      `${what} has no keys of a ${of}: it was deleted, or the store has lost them`,
    );
  }
  return (path, sealed) => Buffer.from(cipher.open(sealed, contextOf({ ...holder, path })));
}

function keysOf(holder: SecretHolder): StackReference {
  if (holder.of === OF_ACCOUNT) return accountSetKeys(holder);
  const { account, project, of } = holder;
  return { account, project, stack: KEYS_OF[of] };
}

function contextOf(holder: SecretOwner): string {
  const { account, of, path } = holder;
  return [of, account, ...(holder.of === OF_ACCOUNT ? [] : [holder.project]), ...path].join("\0");
}
