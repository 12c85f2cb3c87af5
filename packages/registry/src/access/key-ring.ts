import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import type { SealedValue } from "@stackwright/proto/stackwright";
import { RegistryError } from "../errors.ts";

/** Encrypts stored secrets. */
export interface KeyRing {
  /** The id of the key that encrypts. */
  readonly currentId: string;
  /** Whether a key is in the ring. */
  has(keyId: string): boolean;
  /** Encrypts a secret so that it opens only in its place: `purpose` is authenticated with it. */
  seal(secret: Uint8Array, purpose: string): SealedValue;
  /** Throws `REGISTRY_KEY_MISSING` for a key that is not in the ring, `REGISTRY_CORRUPT` otherwise. */
  open(sealed: SealedValue, purpose: string): Buffer;
}

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * A ring of key-encryption keys of 32 bytes. The first encrypts; all of them decrypt, so a new key is put in front and
 * the old one kept as long as a secret is encrypted with it. A key is named by the beginning of its digest.
 */
export function createKeyRing(keys: readonly Uint8Array[]): KeyRing {
  const byId = new Map<string, Uint8Array>();
  for (const key of keys) {
    if (key.byteLength !== 32) throw new RangeError("a key-encryption key has 32 bytes");
    byId.set(createHash("sha256").update("key-id\0").update(key).digest("hex").slice(0, 16), key);
  }
  const [first] = byId;
  if (first === undefined) throw new RangeError("a key ring has at least one key");
  const [keyId, current] = first;
  return {
    currentId: keyId,
    has: (id) => byId.has(id),
    seal(secret, purpose) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, current, nonce).setAAD(Buffer.from(purpose));
      const ciphertext = Buffer.concat([
        cipher.update(secret),
        cipher.final(),
        cipher.getAuthTag(),
      ]);
      return { keyId, nonce, ciphertext };
    },
    open(sealed, purpose) {
      const key = byId.get(sealed.keyId);
      if (key === undefined) {
        throw new RegistryError(
          "REGISTRY_KEY_MISSING",
          `a secret is encrypted with the key ${sealed.keyId}, which is not configured`,
        );
      }
      const end = sealed.ciphertext.byteLength - TAG_BYTES;
      try {
        const decipher = createDecipheriv(ALGORITHM, key, sealed.nonce, {
          authTagLength: TAG_BYTES,
        });
        decipher.setAAD(Buffer.from(purpose));
        decipher.setAuthTag(sealed.ciphertext.subarray(end));
        return Buffer.concat([
          decipher.update(sealed.ciphertext.subarray(0, end)),
          decipher.final(),
        ]);
      } catch (error) {
        throw new RegistryError("REGISTRY_CORRUPT", "a stored secret cannot be decrypted", {
          cause: error,
        });
      }
    },
  };
}
