import { createHmac } from "node:crypto";
import {
  type NotificationDestination,
  NotificationDestination_Kind,
  type NotificationEvent,
} from "@stackwright/proto/stackwright";
import type { ProjectReference } from "../domain/notification-places.ts";
import { isServerError } from "../domain/server-error.ts";
import { boundedFetch } from "../vcs/provider/bounded-fetch.ts";
import { openDestination } from "./destination-secrets.ts";
import { notificationBody } from "./notification-body.ts";
import type { NotificationParts } from "./notification-parts.ts";
import { sendMail } from "./send-mail.ts";

const TIMEOUT_MS = 10_000;
/** Bytes of an answer that are read, for its beginning may say what was wrong. */
const ANSWER_BYTES = 512;
const MAX_PROBLEM = 512;

/** How one attempt ended. */
export interface SendOutcome {
  /** Of the answer; 0 without one. */
  readonly status: number;
  /** The destination has the event. */
  readonly isDelivered: boolean;
  /** Empty where nothing was wrong. Of a mail that was delivered: the recipients that the mail server refused. */
  readonly problem: string;
  /** Recipients of a mail that was delivered to others, which the server refused for the moment. @default none */
  readonly later?: readonly string[] | undefined;
  /** Recipients that it refused for good. @default none */
  readonly refused?: readonly string[] | undefined;
}

/** Sends one event to one destination, once. Rejects where the signal aborts, and where the address cannot be decrypted. */
export async function sendNotification(
  { keys, clock, hosts, origin }: NotificationParts,
  project: ProjectReference,
  destination: NotificationDestination,
  {
    event,
    stackName,
    recipients = [],
  }: {
    readonly event: NotificationEvent;
    readonly stackName: string;
    /** Those that a mail is still for. @default all of the destination */
    readonly recipients?: readonly string[];
  },
  signal: AbortSignal,
): Promise<SendOutcome> {
  const nowMs = clock.wallMs();
  const { url, secrets } = await openDestination(keys, project, destination, nowMs);
  const facts = { project, event, stackName, origin: origin() };
  if (destination.kind === NotificationDestination_Kind.KIND_EMAIL) {
    const { sender } = destination;
    const to = {
      sender,
      recipients: recipients.length > 0 ? [...recipients] : destination.recipients,
    };
    return sendMail(hosts, { destination: to, address: url, facts }, signal);
  }
  const body = notificationBody(destination, facts);
  try {
    const { status, text } = await boundedFetch({
      method: "POST",
      address: url,
      headers: {
        "content-type": "application/json",
        ...signatureHeaders(secrets, { id: event.id, nowMs, body }),
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
