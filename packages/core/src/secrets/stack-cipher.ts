import {
  type CipherKey,
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  randomBytes,
} from "node:crypto";
import { EngineError } from "../errors.ts";

/** Encrypts and decrypts the secrets of one stack with its data keys. */
export interface StackCipher {
  /**
   * Encrypts; `context` is not stored, but has to be the same for decryption: it ties the secret to its place, so that
   * it cannot be moved elsewhere in the store.
   */
  seal(plain: Uint8Array, context: string): Uint8Array;
  /** `ENGINE_STATE_CORRUPT` for bytes that were changed or moved, `ENGINE_KEY_UNAVAILABLE` without their key. */
  open(sealed: Uint8Array, context: string): Uint8Array;
}

/** A data key of a stack; higher numbers are newer, and the newest encrypts. */
export interface DataKey {
  /** From 1 on. */
  readonly number: number;
  /** 32 bytes. */
  readonly bytes: Uint8Array;
}

// Format 1 of sealed bytes: the byte 1, the number of the data key in four bytes, a nonce of 12 random bytes, cipher
// text, a tag of 16 bytes; the first five and the context are authenticated. Random nonces are safe for some 2^32
// secrets per data key; a stack with 10,000 secrets that all change in every run takes 400,000 runs to get there.

const FORMAT = 1;
const HEAD_BYTES = 5;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A cipher over data keys. `random` is for simulations, and must never repeat under one key. */
export function createStackCipher(
  keys: readonly [DataKey, ...DataKey[]],
  random: (bytes: number) => Uint8Array = randomBytes,
): StackCipher {
  // As objects: what keys in bytes are is found out again for each secret, which takes longer than its encryption.
  const byNumber = new Map(keys.map(({ number, bytes }) => [number, createSecretKey(bytes)]));
  const newest = keys.reduce((best, key) => (key.number > best.number ? key : best));
  const sealing = byNumber.get(newest.number) ?? newest.bytes;
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(FORMAT);
  head.writeUInt32BE(newest.number, 1);
  return {
    seal: (plain, context) => {
      const nonce = random(NONCE_BYTES);
      return Buffer.concat([head, nonce, ...encrypt(sealing, nonce, plain, head, context)]);
    },
    open: (sealed, context) => {
      if (sealed.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES || sealed[0] !== FORMAT) {
        throw new EngineError("ENGINE_STATE_CORRUPT", "a secret is stored in an unknown form");
      }
      const start = sealed.subarray(0, HEAD_BYTES);
      const number = Buffer.from(start).readUInt32BE(1);
      const key = byNumber.get(number);
      if (key === undefined) {
        throw new EngineError("ENGINE_KEY_UNAVAILABLE", `there is no data key number ${number}`);
      }
      const nonce = sealed.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES);
      return decrypt(key, nonce, sealed.subarray(HEAD_BYTES + NONCE_BYTES), start, context);
    },
  };
}

/** Encrypts a data key for storage. */
export function wrapKey(
  wrapping: Uint8Array,
  key: Uint8Array,
  context: string,
  random: (bytes: number) => Uint8Array = randomBytes,
): Uint8Array {
  const nonce = random(NONCE_BYTES);
  return Buffer.concat([nonce, ...encrypt(wrapping, nonce, key, new Uint8Array(), context)]);
}

/** Decrypts what {@link wrapKey} made. `ENGINE_STATE_CORRUPT` with another key, or for other bytes. */
export function unwrapKey(wrapping: Uint8Array, wrapped: Uint8Array, context: string): Uint8Array {
  const nonce = wrapped.subarray(0, NONCE_BYTES);
  return decrypt(wrapping, nonce, wrapped.subarray(NONCE_BYTES), new Uint8Array(), context);
}

/** Cipher text and tag, in parts: states are long, and are copied once. */
function encrypt(
  key: CipherKey,
  nonce: Uint8Array,
  plain: Uint8Array,
  head: Uint8Array,
  context: string,
): readonly Uint8Array[] {
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.concat([head, Buffer.from(context, "utf8")]));
  return [cipher.update(plain), cipher.final(), cipher.getAuthTag()];
}

function decrypt(
  key: CipherKey,
  nonce: Uint8Array,
  sealed: Uint8Array,
  head: Uint8Array,
  context: string,
): Uint8Array {
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.concat([head, Buffer.from(context, "utf8")]));
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    const plain = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES));
    const rest = decipher.final();
    return rest.length === 0 ? plain : Buffer.concat([plain, rest]);
  } catch (error) {
    throw new EngineError("ENGINE_STATE_CORRUPT", "a secret was changed or belongs elsewhere", {
      cause: error,
    });
  }
}
