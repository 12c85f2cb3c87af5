import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { ConnectionKind } from "../connection-kind.ts";

/** Headers that carry the signature of a delivery, HMAC-SHA256 over its bytes in hexadecimal; the first one that is there counts. */
const HEADERS: Readonly<Record<ConnectionKind, readonly string[]>> = {
  generic: ["x-stackwright-signature"],
  gitea: ["x-forgejo-signature", "x-gitea-signature"],
  github: ["x-hub-signature-256"],
};

/** The signature of a delivery; undefined where there is none of the right form, so that its body need not be read. */
export function signatureOf(
  kind: ConnectionKind,
  headers: IncomingHttpHeaders,
): Buffer | undefined {
  for (const name of HEADERS[kind]) {
    const value = headers[name];
    if (typeof value !== "string") continue;
    const [, hex] = /^(?:sha256=)?([0-9a-f]{64})$/i.exec(value) ?? [];
    return hex === undefined ? undefined : Buffer.from(hex, "hex");
  }
  return undefined;
}

/** Whether a signature is that of some bytes, in a time that says nothing about where they differ. */
export function isSigned(body: Uint8Array, signature: Uint8Array, secret: Uint8Array): boolean {
  const expected = createHmac("sha256", secret).update(body).digest();
  return signature.byteLength === expected.byteLength && timingSafeEqual(signature, expected);
}
