import { createHash } from "node:crypto";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LENGTH = 16;

/**
 * The id of what has no other one than its names, always the same. Clients take a prefix and 16 letters and digits alone for an id of a
 * variable set.
 */
export function opaqueId(prefix: string, ...names: readonly string[]): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([prefix, ...names]))
    .digest();
  const letters = [...digest.subarray(0, LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]);
  return `${prefix}-${letters.join("")}`;
}
