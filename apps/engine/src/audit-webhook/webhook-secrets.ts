import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { AuditWebhook } from "@stackwright/proto/stackwright";
import { ServerError } from "../domain/server-error.ts";
import { secretBytes } from "../notify/destination-secrets.ts";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

type SecretMember = "url" | "secret";

/** Whose a secret is: bytes of one webhook are of no use in another one. */
interface WebhookPlace {
  readonly account: string;
  readonly id: string;
}

/** Encrypts what only the servers may know of a webhook, tied to it. `key` has 32 bytes and is the same in all servers of a store. */
export function sealForWebhook(
  key: Uint8Array,
  place: WebhookPlace,
  member: SecretMember,
  plain: string,
): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(contextOf(place, member));
  return Buffer.concat([nonce, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]);
}

/** The address of a webhook, and the secrets that sign at a time: two after a change. `key_unavailable` for bytes of another key. */
export function openWebhook(
  key: Uint8Array,
  account: string,
  { id, url, secret, formerSecret, formerUntilMs }: AuditWebhook,
  nowMs: number,
): { readonly url: string; readonly secrets: readonly Buffer[] } {
  const place = { account, id };
  const isBoth = formerSecret.byteLength > 0 && Number(formerUntilMs) > nowMs;
  return {
    url: open(key, place, "url", url),
    secrets: [secret, ...(isBoth ? [formerSecret] : [])].map((sealed) =>
      secretBytes(open(key, place, "secret", sealed)),
    ),
  };
}

function open(
  key: Uint8Array,
  place: WebhookPlace,
  member: SecretMember,
  sealed: Uint8Array,
): string {
  const bytes = Buffer.from(sealed);
  const end = bytes.byteLength - TAG_BYTES;
  if (end < NONCE_BYTES) throw new ServerError("key_unavailable");
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(contextOf(place, member)).setAuthTag(bytes.subarray(end));
  try {
    const plain = [decipher.update(bytes.subarray(NONCE_BYTES, end)), decipher.final()];
    return Buffer.concat(plain).toString("utf8");
  } catch (cause) {
    throw new ServerError("key_unavailable", "the secrets of the webhook cannot be decrypted", {
      cause,
    });
  }
}

function contextOf({ account, id }: WebhookPlace, member: SecretMember): Buffer {
  return Buffer.from(["audit webhook", account, id, member].join("\0"));
}
