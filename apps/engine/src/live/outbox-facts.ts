import { kind } from "@stackwright/krt";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { FollowedKind } from "./follow-kind.ts";
import { placeKey } from "./stack-facts.ts";

/** An event that some destination has not heard of. */
export interface WaitingEventFact {
  readonly key: string;
  /** Since when the first of them waits for it. */
  readonly sinceMs: number;
}

export const WAITING_EVENTS: FollowedKind<WaitingEventFact> = {
  name: "events that wait",
  type: SERVER_KINDS.notificationEvent.type,
  kind: kind<WaitingEventFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { waits } = decodeRecord(SERVER_KINDS.notificationEvent, resource);
    if (waits.length === 0) return undefined;
    const sinceMs = Math.min(...waits.map((one) => Number(one.sinceMs)));
    return { key: placeKey(resource.id), sinceMs };
  },
};
