import {
  type NotificationDestination,
  NotificationDestination_Kind,
  type NotificationEvent,
} from "@stackwright/proto/stackwright";
import type { ProjectReference } from "../domain/notification-places.ts";
import { openDestination } from "./destination-secrets.ts";
import { notificationBody } from "./notification-body.ts";
import type { NotificationParts } from "./notification-parts.ts";
import { sendMail } from "./send-mail.ts";
import { sendSigned } from "./signed-request.ts";

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
  return sendSigned(hosts, { url, secrets, id: event.id, nowMs, body }, signal);
}
