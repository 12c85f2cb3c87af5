import { countWrapped, type KeyEncryptionKey, listKeyOwners } from "@stackwright/core";
import { createKeyRing, listSecretKeys, type SecretKeyUse } from "@stackwright/registry";
import type { CallOptions, StorageBackend } from "@stackwright/storage";

/** A key-encryption key that a server's store needs. */
export interface ServerKeyUse extends SecretKeyUse {
  /** How many data keys of stacks, variable sets of projects and accounts, connections and destinations are encrypted with it. */
  readonly dataKeys: number;
}

/**
 * The current key of a server, and all that its stored secrets and data keys need. A key that is not available and encrypts data keys
 * alone may be that of a user whose commands share the store.
 */
export async function listServerKeyUses(
  storage: StorageBackend,
  keys: readonly KeyEncryptionKey[],
  options?: CallOptions,
): Promise<readonly ServerKeyUse[]> {
  const ring = createKeyRing(keys.map(({ bytes }) => bytes));
  // One key has an id among secrets and another one among data keys: it is named by the former wherever it is known.
  const names = new Map(keys.map(({ id, bytes }) => [id, createKeyRing([bytes]).currentId]));
  const counts = countWrapped(await listKeyOwners(storage, undefined, options));
  const dataKeys = new Map<string, number>();
  for (const [id, count] of counts) {
    const name = names.get(id) ?? id;
    dataKeys.set(name, count + (dataKeys.get(name) ?? 0));
  }
  const secrets = await listSecretKeys(storage, ring, options);
  const uses = secrets.map((use) => ({ ...use, dataKeys: dataKeys.get(use.keyId) ?? 0 }));
  const listed = new Set(uses.map(({ keyId }) => keyId));
  const others = [...dataKeys].filter(([keyId]) => !listed.has(keyId));
  return [
    ...uses,
    ...others.map(([keyId, count]) => ({
      keyId,
      secrets: 0,
      dataKeys: count,
      isCurrent: false,
      isAvailable: ring.has(keyId),
    })),
  ];
}
