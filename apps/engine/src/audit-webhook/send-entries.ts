import type { AuditWebhook } from "@stackwright/proto/stackwright";
import type { NumberedAuditEntry } from "@stackwright/registry";
import { type SignedAnswer, sendSigned } from "../notify/signed-request.ts";
import type { OutgoingHosts } from "../vcs/provider/outgoing-hosts.ts";
import { exportedEntry } from "./entry-view.ts";
import { openWebhook } from "./webhook-secrets.ts";

export interface SendParts {
  /** Hosts that webhooks may be on. */
  readonly hosts: OutgoingHosts;
  /** Encrypts the secrets of webhooks, the same in all servers of the store. */
  readonly secretKey: () => Promise<Uint8Array>;
}

/**
 * Sends entries to a webhook, once: in the order of the trail, without a gap but for entries past their time. A test has none. Rejects where
 * the signal aborts, and where the address cannot be decrypted.
 */
export async function sendEntries(
  { hosts, secretKey }: SendParts,
  account: string,
  webhook: AuditWebhook,
  {
    id,
    entries,
    nowMs,
  }: {
    readonly id: string;
    readonly entries: readonly NumberedAuditEntry[];
    readonly nowMs: number;
  },
  signal: AbortSignal,
): Promise<SignedAnswer> {
  const { url, secrets } = openWebhook(await secretKey(), account, webhook, nowMs);
  const body = JSON.stringify({
    id,
    event: entries.length === 0 ? "test" : "audit.entries",
    account,
    entries: entries.map(exportedEntry),
  });
  return sendSigned(hosts, { url, secrets, id, nowMs, body }, signal);
}
