import {
  NotificationDelivery,
  NotificationDelivery_State,
  type NotificationDestination,
  type NotificationEvent,
  type NotificationWait,
} from "@stackwright/proto/stackwright";
import type { Lease } from "@stackwright/storage/lease";
import {
  deliveryPlace,
  notificationEventPlace,
  type ProjectReference,
} from "../domain/notification-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import {
  type StoredRow,
  type Transaction,
  type TransactionParts,
  transact,
} from "../queue/transaction.ts";
import type { SendOutcome } from "./send-notification.ts";

const MAX_ATTEMPTS = 10;
const MAX_AGE_MS = 24 * 3_600_000;
const SECOND_MS = 1_000;
/** Pauses after each failed attempt, but for the last one, in seconds. */
const PAUSES = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800] as const;
/** Events that are settled in one batch, whose guards are bounded: each that no destination waits for is removed under one. */
const BATCH = 6;

/** Where a destination is, and the lease under which one server serves it. */
interface Served {
  readonly project: ProjectReference;
  readonly destination: Pick<NotificationDestination, "id">;
  readonly guard: Lease["guard"];
  /** Aborts when that is lost, so that nothing is tried again. */
  readonly signal: AbortSignal;
}

/** Records an attempt: the event is delivered, waits for its next attempt, or is given up. Resolves with whether it waits. */
export async function settleAttempt(
  parts: TransactionParts,
  served: Served,
  id: string,
  { status, isDelivered, problem: said, later = [], refused = [] }: SendOutcome,
): Promise<boolean> {
  return transact(parts, async (tx) => {
    served.signal.throwIfAborted();
    tx.guard(served.guard);
    const found = await findWait(tx, served, id);
    if (found === undefined) return false;
    const { row, wait } = found;
    const attempts = wait.attempts + 1;
    const isOver = attempts >= MAX_ATTEMPTS || tx.nowMs - Number(wait.sinceMs) >= MAX_AGE_MS;
    // A mail that some recipients have waits for those that were refused for the moment alone.
    const recipients = isDelivered ? [...later] : wait.recipients;
    const before = wait.refused.filter((one) => !refused.includes(one));
    const problem = [
      ...(before.length === 0 ? [] : [`the server refused ${before.join(", ")}`]),
      ...(said === "" ? [] : [said]),
    ].join("; ");
    if ((isDelivered && recipients.length === 0) || isOver) {
      const isAtSome = isDelivered || wait.recipients.length > 0;
      const state = isAtSome
        ? NotificationDelivery_State.STATE_DELIVERED
        : NotificationDelivery_State.STATE_DEAD;
      await recordDelivery(tx, served, row.message, { state, attempts, status, problem });
      stopWaiting(tx, row, served.destination.id);
      return false;
    }
    const pauseMs = (PAUSES[wait.attempts] ?? PAUSES[0]) * SECOND_MS * (0.8 + parts.random() * 0.4);
    const next = {
      ...wait,
      attempts,
      problem: said,
      nextAtMs: BigInt(Math.floor(tx.nowMs + pauseMs)),
      recipients,
      refused: [...before, ...refused],
    };
    tx.update(row, {
      waits: row.message.waits.map((one) => (one.destination === wait.destination ? next : one)),
    });
    return true;
  });
}

/** Takes events from a destination without sending them: as too many wait, which its deliveries show; or as they do not concern it. */
export async function settleUnsent(
  parts: TransactionParts,
  served: Served,
  ids: readonly string[],
  { isShown }: { readonly isShown: boolean },
): Promise<void> {
  for (let at = 0; at < ids.length; at += BATCH) {
    await transact(parts, async (tx) => {
      served.signal.throwIfAborted();
      tx.guard(served.guard);
      for (const id of ids.slice(at, at + BATCH)) {
        const found = await findWait(tx, served, id);
        if (found === undefined) continue;
        const { row, wait } = found;
        if (isShown) {
          await recordDelivery(tx, served, row.message, {
            state: NotificationDelivery_State.STATE_DROPPED,
            attempts: wait.attempts,
            status: 0,
            problem: "too many events waited for the destination",
          });
        }
        stopWaiting(tx, row, served.destination.id);
      }
    });
  }
}

/** Records how the delivery of an event ended. */
export async function recordDelivery(
  tx: Transaction,
  { project, destination }: Pick<Served, "project" | "destination">,
  event: NotificationEvent,
  outcome: Pick<NotificationDelivery, "state" | "attempts" | "status" | "problem">,
): Promise<void> {
  const place = deliveryPlace(project, destination, event.id);
  const kind = SERVER_KINDS.notificationDelivery;
  const row = await tx.findOrNew(kind, place, () => NotificationDelivery.create());
  tx.update(row, {
    ...outcome,
    event: { ...event, waits: [] },
    endedAtMs: BigInt(tx.nowMs),
  });
}

async function findWait(
  tx: Transaction,
  { project, destination }: Served,
  id: string,
): Promise<
  { readonly row: StoredRow<NotificationEvent>; readonly wait: NotificationWait } | undefined
> {
  const row = await tx.find(SERVER_KINDS.notificationEvent, notificationEventPlace(project, id));
  const wait = row?.message.waits.find((one) => one.destination === destination.id);
  return row === undefined || wait === undefined ? undefined : { row, wait };
}

function stopWaiting(
  tx: Transaction,
  row: StoredRow<NotificationEvent>,
  destination: string,
): void {
  const waits = row.message.waits.filter((one) => one.destination !== destination);
  if (waits.length === 0) tx.remove(row);
  else tx.update(row, { waits });
}
