import { createHmac } from "node:crypto";
import { isServerError } from "../domain/server-error.ts";
import { boundedFetch } from "../vcs/provider/bounded-fetch.ts";
import type { OutgoingHosts } from "../vcs/provider/outgoing-hosts.ts";

const TIMEOUT_MS = 10_000;
/** Bytes of an answer that are read, for its beginning may say what was wrong. */
const ANSWER_BYTES = 512;
const MAX_PROBLEM = 512;

interface SignedRequest {
  readonly url: string;
  /** Each of them signs; none where the receiver takes no signature. */
  readonly secrets: readonly Uint8Array[];
  /** What the receiver recognises a repeated request by. */
  readonly id: string;
  readonly nowMs: number;
  /** JSON. */
  readonly body: string;
}

/** How a request ended. */
export interface SignedAnswer {
  /** Of the answer; 0 without one. */
  readonly status: number;
  /** The receiver has what was sent. */
  readonly isDelivered: boolean;
  /** Empty where nothing was wrong. */
  readonly problem: string;
}

/**
 * Sends JSON to a receiver once, signed as Standard Webhooks has it: to hosts that may be called alone, within ten seconds, without
 * redirects. Rejects where the signal aborts alone.
 */
export async function sendSigned(
  hosts: OutgoingHosts,
  { url, secrets, id, nowMs, body }: SignedRequest,
  signal: AbortSignal,
): Promise<SignedAnswer> {
  try {
    const { status, text } = await boundedFetch({
      method: "POST",
      address: url,
      headers: {
        "content-type": "application/json",
        ...signatureHeaders(secrets, { id, nowMs, body }),
      },
      body,
      lookup: hosts.lookup(new URL(url)),
      signal,
      timeoutMs: TIMEOUT_MS,
      cutAnswerBytes: ANSWER_BYTES,
    });
    const isDelivered = status >= 200 && status < 300;
    return { status, isDelivered, problem: isDelivered ? "" : problemOf(status, text) };
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    // An address may itself be what gives access: its path is not shown.
    const { origin: host, pathname } = new URL(url);
    const shown = isServerError(error) ? reason : reason.replaceAll(host + pathname, host);
    return { status: 0, isDelivered: false, problem: shown.slice(0, MAX_PROBLEM) };
  }
}

/** Headers by which a receiver recognises what the server sends, as Standard Webhooks has them. */
function signatureHeaders(
  secrets: readonly Uint8Array[],
  { id, nowMs, body }: { readonly id: string; readonly nowMs: number; readonly body: string },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signatures = secrets.map((secret) => {
    const mac = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`);
    return `v1,${mac.digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    ...(signatures.length > 0 && { "webhook-signature": signatures.join(" ") }),
  };
}

function problemOf(status: number, text: string): string {
  if (status >= 300 && status < 400) return `it answered ${status}; redirects are not followed`;
  const [line = ""] = text.trim().split("\n");
  const said = line.replaceAll(/[^\x20-\x7e]/g, " ").slice(0, 200);
  return said === "" ? `it answered ${status}` : `it answered ${status}: ${said}`;
}
