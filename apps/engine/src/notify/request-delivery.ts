import {
  type NotificationDelivery,
  NotificationDelivery_State,
  type NotificationDestination,
  NotificationEvent,
} from "@stackwright/proto/stackwright";
import { TEST_EVENT } from "../domain/notification-events.ts";
import {
  deliveryPlace,
  notificationEventPlace,
  type ProjectReference,
} from "../domain/notification-places.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { projectTenancy } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { transact } from "../queue/transaction.ts";
import type { NotificationParts } from "./notification-parts.ts";
import { sendNotification } from "./send-notification.ts";
import { recordDelivery } from "./settle-delivery.ts";

/** Lets an event be sent again at once, with all its attempts: one that waits, or whose delivery has ended. `not_found` for another. */
export async function redeliver(
  parts: Pick<NotificationParts, "storage" | "clock" | "token" | "random">,
  project: ProjectReference,
  destination: Pick<NotificationDestination, "id">,
  id: string,
): Promise<void> {
  await transact(parts, async (tx) => {
    const now = BigInt(tx.nowMs);
    const place = notificationEventPlace(project, id);
    const row = await tx.find(SERVER_KINDS.notificationEvent, place);
    const others = row?.message.waits.filter((one) => one.destination !== destination.id) ?? [];
    const waiting = row?.message.waits.find((one) => one.destination === destination.id);
    const isWaiting = waiting !== undefined;
    const again = {
      destination: destination.id,
      attempts: 0,
      nextAtMs: now,
      // A mail that others have is not sent to them once more.
      recipients: waiting?.recipients ?? [],
      refused: waiting?.refused ?? [],
      problem: "",
      sinceMs: now,
    };
    const former = await tx.find(
      SERVER_KINDS.notificationDelivery,
      deliveryPlace(project, destination, id),
    );
    if (former === undefined && !isWaiting) {
      throw new ServerError("not_found", `the destination has no delivery ${id}`);
    }
    // What waits is listed once.
    if (former !== undefined) tx.remove(former);
    if (row !== undefined) tx.update(row, { waits: [...others, again] });
    else if (former?.message.event !== undefined) {
      const event = { ...former.message.event, waits: [again] };
      tx.create(SERVER_KINDS.notificationEvent, place, event);
    }
  });
}

/**
 * Lets what a destination waits for be sent at once, as it may be reached from now on: what fails keeps all later events waiting, but
 * for a mail that waits for some recipients alone.
 */
export async function retryFirst(
  parts: Pick<NotificationParts, "storage" | "clock" | "token" | "random">,
  project: ProjectReference,
  destination: Pick<NotificationDestination, "id">,
): Promise<void> {
  const kind = SERVER_KINDS.notificationEvent;
  const found = await parts.storage.list("strong", kind.type, projectTenancy(project), "");
  const [first] = found
    .map((one) => decodeRecord(kind, one))
    .filter(({ waits }) =>
      waits.some((one) => one.destination === destination.id && one.recipients.length === 0),
    )
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  if (first !== undefined) await redeliver(parts, project, destination, first.id);
}

/** Sends a test to a destination, once and at once, and records how that ended. */
export async function sendTest(
  parts: NotificationParts,
  project: ProjectReference,
  destination: NotificationDestination,
  { actor, signal }: { readonly actor: string; readonly signal: AbortSignal },
): Promise<NotificationDelivery> {
  const event = NotificationEvent.create({
    id: parts.token(),
    event: TEST_EVENT,
    atMs: BigInt(Math.floor(parts.clock.wallMs())),
    actor,
  });
  const sent = { event, stackName: "" };
  const { isDelivered, status, problem } = await sendNotification(
    parts,
    project,
    destination,
    sent,
    signal,
  );
  const state = isDelivered
    ? NotificationDelivery_State.STATE_DELIVERED
    : NotificationDelivery_State.STATE_DEAD;
  return transact(parts, async (tx) => {
    const ended = { status, problem, state, attempts: 1 };
    await recordDelivery(tx, { project, destination }, event, ended);
    return { ...ended, event, endedAtMs: BigInt(tx.nowMs) };
  });
}
