import { createHmac } from "node:crypto";

/** Headers by which a receiver recognises what the server sends: HMAC-SHA256 over id, time and body, as Standard Webhooks has it. */
export function outgoingSignature(
  secret: Uint8Array,
  { id, nowMs, body }: { readonly id: string; readonly nowMs: number; readonly body: string },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const mac = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${mac}`,
  };
}
