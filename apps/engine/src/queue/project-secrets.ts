import {
  type StackCipher,
  type StackReference,
  type StoredKeys,
  variableSetKeys,
} from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { StackKeys } from "@stackwright/proto/stackwright";
import { recordKind } from "../domain/record-kind.ts";
import { stackPlace } from "../domain/run-places.ts";
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

/** What a secret belongs to. */
interface SecretOwner {
  readonly account: string;
  readonly project: string;
  readonly of: keyof typeof KEYS_OF;
  /** Its id, and further names that tell its secrets apart. */
  readonly path: readonly string[];
}

const KIND = recordKind("StackKeys", StackKeys);

/** Encrypts a secret, tied to its owner, which the same transaction writes. */
export async function sealProjectSecret(
  tx: Transaction,
  keys: StoredKeys,
  owner: SecretOwner,
  plain: string | Uint8Array,
): Promise<Buffer> {
  const reference = keysOf(owner);
  const row = await tx.findOrNew(KIND, stackPlace(reference), () => StackKeys.create());
  const { cipher, stored } = keys.withFirst(reference, row.message);
  if (row.resource === undefined) tx.update(row, stored);
  else tx.guard({ id: row.resource.id, version: row.resource.version });
  return Buffer.from(cipher.seal(Buffer.from(plain), contextOf(owner)));
}

/** Decrypts secrets of what a project has. Makes no keys: where they are gone, so are the secrets. `ENGINE_KEY_UNAVAILABLE`, also without keys. */
export async function projectCipher(
  keys: StoredKeys,
  owner: Omit<SecretOwner, "path">,
): Promise<(path: readonly string[], sealed: Uint8Array) => Buffer> {
  const cipher: StackCipher | undefined = await keys.load(keysOf(owner));
  if (cipher === undefined) {
    throw new EngineError(
      "ENGINE_KEY_UNAVAILABLE",
      `the project ${owner.project} has no keys of a ${owner.of}: it was deleted, or the store has lost them`,
    );
  }
  return (path, sealed) => Buffer.from(cipher.open(sealed, contextOf({ ...owner, path })));
}

function keysOf({ account, project, of }: Omit<SecretOwner, "path">): StackReference {
  return { account, project, stack: KEYS_OF[of] };
}

function contextOf({ account, project, of, path }: SecretOwner): string {
  return [of, account, project, ...path].join("\0");
}
