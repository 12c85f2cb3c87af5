import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { StorageError } from "../../errors.ts";
import { listExpired } from "../../list/continuation.ts";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Longest text that is opened: a continuation at its limit, sealed. */
const MAX_CHARACTERS = 64 * 1024;

/**
 * Continuations for tokens that see parts of a store. The name in a continuation may be of a resource
 * that the token does not cover, so it leaves the service encrypted, under a key of this service.
 */
export class SealedContinuations {
  readonly #key = randomBytes(32);

  seal(continuation: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce);
    const content = [cipher.update(continuation, "utf8"), cipher.final()];
    return Buffer.concat([nonce, cipher.getAuthTag(), ...content]).toString("base64url");
  }

  /**
   * `STORAGE_INVALID_ARGUMENT` for a text that was never sealed; `STORAGE_LIST_EXPIRED` for one that was changed or
   * that another service sealed, an earlier process of this one for example.
   */
  open(text: string): string {
    const bytes = Buffer.from(text, "base64url");
    const isSealed =
      text.length <= MAX_CHARACTERS &&
      bytes.byteLength > NONCE_BYTES + TAG_BYTES &&
      bytes.toString("base64url") === text;
    if (!isSealed) {
      throw new StorageError(
        "STORAGE_INVALID_ARGUMENT",
        "continueAfter is not a continuation of a list",
        { details: { field: "continueAfter" } },
      );
    }
    const content = bytes.subarray(NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    try {
      return Buffer.concat([decipher.update(content), decipher.final()]).toString("utf8");
    } catch {
      throw listExpired("the continuation was made by another server, or was changed");
    }
  }
}
