import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import type { Place } from "../../domain/run-places.ts";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * The key of the answer to one request: of the servers of the store, and of the idempotency key of the request. The store has only a digest
 * of that, so that who has the store, a backup of it and the keys of the servers opens no answer without a key that cannot be guessed.
 */
export function answerKeyOf(serverKey: Uint8Array, idempotencyKey: string): Uint8Array {
  return createHmac("sha256", serverKey).update(idempotencyKey).digest();
}

/** Encrypts the body of an answer, tied to its record. `key` is {@link answerKeyOf} its request. */
export function sealAnswer(key: Uint8Array, place: Place, body: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(contextOf(place));
  return Buffer.concat([nonce, cipher.update(body, "utf8"), cipher.final(), cipher.getAuthTag()]);
}

/** The body of an answer; undefined for bytes of another key or another record. */
export function openAnswer(key: Uint8Array, place: Place, sealed: Uint8Array): string | undefined {
  const bytes = Buffer.from(sealed);
  const end = bytes.byteLength - TAG_BYTES;
  if (end < NONCE_BYTES) return undefined;
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(contextOf(place)).setAuthTag(bytes.subarray(end));
  try {
    const plain = [decipher.update(bytes.subarray(NONCE_BYTES, end)), decipher.final()];
    return Buffer.concat(plain).toString("utf8");
  } catch {
    return undefined;
  }
}

function contextOf({ tenancy: { partition, namespace }, name }: Place): Buffer {
  return Buffer.from(["answer", partition, namespace, name].join("\0"));
}
