import type { StackReference } from "@stackwright/core";
import { NotificationEvent } from "@stackwright/proto/stackwright";
import type { NotificationEventName } from "../domain/notification-events.ts";
import {
  notificationEventPlace,
  notificationSettingsPlace,
} from "../domain/notification-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { Transaction } from "./transaction.ts";

/** What happened to a stack, without any of its values. */
type NotedEvent = {
  readonly event: NotificationEventName;
  readonly stack: StackReference;
} & Partial<
  Pick<
    NotificationEvent,
    | "run"
    | "runNumber"
    | "phase"
    | "reasonCode"
    | "actor"
    | "mode"
    | "planOnly"
    | "drifted"
    | "ignored"
    | "provider"
    | "providerVersion"
    | "providerChange"
  >
>;

/**
 * Notes what happened for the destinations of the project that want it, in the batch that makes it happen: it is sent if that batch is
 * written, and only then. Which of them want the stack is seen when it is sent, by the name of the stack.
 */
export async function noteEvent(
  tx: Transaction,
  { event, stack, ...facts }: NotedEvent,
): Promise<void> {
  const settings = await tx.find(
    SERVER_KINDS.notificationSettings,
    notificationSettingsPlace(stack),
  );
  const wanting = (settings?.message.destinations ?? []).filter(
    ({ events, paused }) => !paused && events.includes(event),
  );
  if (wanting.length === 0) return;
  const id = tx.makeId();
  const atMs = BigInt(tx.nowMs);
  const noted = NotificationEvent.create({
    ...facts,
    id,
    event,
    atMs,
    stack: stack.stack,
    waits: wanting.map(({ id: destination }) => ({
      destination,
      attempts: 0,
      nextAtMs: atMs,
      recipients: [],
      refused: [],
      problem: "",
      sinceMs: atMs,
    })),
  });
  tx.create(SERVER_KINDS.notificationEvent, notificationEventPlace(stack, id), noted);
}
