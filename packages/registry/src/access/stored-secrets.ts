import type { AccessKey, RegistrySecret, SealedValue } from "@stackwright/proto/stackwright";
import { type CallOptions, isStorageError, type StorageBackend } from "@stackwright/storage";
import {
  type RecordKind,
  type RecordName,
  RecordStore,
  type StoredRecord,
} from "../domain/record-store.ts";
import { SYSTEM_TENANCY } from "../domain/scope.ts";
import { RegistryError } from "../errors.ts";
import { purposeOfAccessKey } from "./credentials.ts";
import type { KeyRing } from "./key-ring.ts";
import { purposeOfSecret, SECRET } from "./shared-secrets.ts";
import { ACCESS_KEY } from "./stored-credential.ts";

/** A key-encryption key that stored secrets need. */
export interface SecretKeyUse {
  readonly keyId: string;
  /** How many stored secrets are encrypted with it. */
  readonly secrets: number;
  /** It encrypts new secrets. */
  readonly isCurrent: boolean;
  /** It is in the key ring. */
  readonly isAvailable: boolean;
}

/** Lists the keys of the ring's current key and of all stored secrets: access keys and what servers on one store share. */
export async function listSecretKeys(
  storage: StorageBackend,
  keys: KeyRing,
  options?: CallOptions,
): Promise<readonly SecretKeyUse[]> {
  const counts = new Map([[keys.currentId, 0]]);
  for (const { sealed } of await storedSecrets(new RecordStore(storage), options)) {
    counts.set(sealed.keyId, (counts.get(sealed.keyId) ?? 0) + 1);
  }
  return [...counts].map(([keyId, secrets]) => ({
    keyId,
    secrets,
    isCurrent: keyId === keys.currentId,
    isAvailable: keys.has(keyId),
  }));
}

/**
 * Encrypts all stored secrets with the current key of a ring and returns how many another key encrypted. All are decrypted
 * before the first is written (`REGISTRY_KEY_MISSING`, `REGISTRY_CORRUPT`). Each is written by itself: after an interruption
 * some have the new key and the others their former one, and a repetition does the rest. Servers may run meanwhile.
 */
export async function reencryptSecrets(
  storage: StorageBackend,
  keys: KeyRing,
  options?: CallOptions,
): Promise<number> {
  const records = new RecordStore(storage);
  const former = (await storedSecrets(records, options)).filter(
    ({ sealed }) => sealed.keyId !== keys.currentId,
  );
  const missing = new Set(
    former.map(({ sealed }) => sealed.keyId).filter((keyId) => !keys.has(keyId)),
  );
  if (missing.size > 0) {
    const ids = [...missing].join(", ");
    throw new RegistryError(
      "REGISTRY_KEY_MISSING",
      `stored secrets need the ${missing.size === 1 ? "key" : "keys"} ${ids}, not configured`,
    );
  }
  for (const { sealed, purpose } of former) keys.open(sealed, purpose);
  for (const secret of former) await secret.reencrypt(keys);
  return former.length;
}

interface StoredSecret {
  readonly sealed: SealedValue;
  readonly purpose: string;
  reencrypt(keys: KeyRing): Promise<void>;
}

async function storedSecrets(
  records: RecordStore,
  options?: CallOptions,
): Promise<readonly StoredSecret[]> {
  return [
    ...(await secretsOf(records, ACCESS_KEY_SECRETS, options)),
    ...(await secretsOf(records, SHARED_SECRETS, options)),
  ];
}

/** A kind of record with an encrypted member. */
interface SecretKind<T> {
  readonly kind: RecordKind<T>;
  sealed(value: T): SealedValue | undefined;
  replaced(value: T, sealed: SealedValue): T;
  purpose(value: T): string;
}

const ACCESS_KEY_SECRETS: SecretKind<AccessKey> = {
  kind: ACCESS_KEY,
  sealed: ({ secret }) => secret,
  replaced: (value, secret) => ({ ...value, secret }),
  purpose: ({ accessKey }) => purposeOfAccessKey(accessKey),
};

const SHARED_SECRETS: SecretKind<RegistrySecret> = {
  kind: SECRET,
  sealed: ({ value }) => value,
  replaced: (secret, value) => ({ ...secret, value }),
  purpose: ({ name }) => purposeOfSecret(name),
};

async function secretsOf<T>(
  records: RecordStore,
  kind: SecretKind<T>,
  options?: CallOptions,
): Promise<StoredSecret[]> {
  const stored = await records.list(kind.kind, SYSTEM_TENANCY, "", options);
  return stored.flatMap((record) => {
    const sealed = kind.sealed(record.value);
    if (sealed === undefined) return [];
    return {
      sealed,
      purpose: kind.purpose(record.value),
      reencrypt: async (keys) => reencrypt(records, kind, record, keys, options),
    };
  });
}

async function reencrypt<T>(
  records: RecordStore,
  kind: SecretKind<T>,
  listed: StoredRecord<T>,
  keys: KeyRing,
  options?: CallOptions,
): Promise<void> {
  const { name, tenancy } = listed.resource.id;
  const at: RecordName<T> = { kind: kind.kind, tenancy, name };
  let stored: StoredRecord<T> | undefined = listed;
  // Until it is written, deleted, or encrypted with the current key by another instance.
  while (stored !== undefined) {
    const sealed = kind.sealed(stored.value);
    if (sealed === undefined || sealed.keyId === keys.currentId) return;
    const purpose = kind.purpose(stored.value);
    const value = kind.replaced(stored.value, keys.seal(keys.open(sealed, purpose), purpose));
    try {
      await records.write(at, value, stored, options);
      return;
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw error;
      stored = await records.read(at, options);
    }
  }
}
