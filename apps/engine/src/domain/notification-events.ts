import type { RunPhase } from "@stackwright/core";

/** What destinations may be sent. */
export const NOTIFICATION_EVENTS = Object.freeze([
  "run.needs_approval",
  "run.applied",
  "run.failed",
  "run.policy_failed",
  "run.stuck",
  "run.approval_expired",
  "drift.found",
  "stack.locked_long",
  "provider.changed",
] as const);

export type NotificationEventName = (typeof NOTIFICATION_EVENTS)[number];

/** Sent to one destination because a user asks for it, whatever events it gets. */
export const TEST_EVENT = "test";

/** The event that a transition to a phase is; phases that are not here are none. */
export const EVENT_OF_PHASE: Readonly<Partial<Record<RunPhase, NotificationEventName>>> =
  Object.freeze({
    awaiting_approval: "run.needs_approval",
    applied: "run.applied",
    partially_applied: "run.failed",
    failed: "run.failed",
    policy_failed: "run.policy_failed",
  });
