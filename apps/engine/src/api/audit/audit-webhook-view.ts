import type { AuditDelivery, AuditWebhook } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { timeOf } from "../runs/run-view.ts";

export const WebhookName = Type.String({
  pattern: "^[a-z0-9][a-z0-9-]{0,62}$",
  description: "unique in the account",
});

const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: "called with POST; over TLS, or on this machine",
});
const Secret = Type.String({
  minLength: 1,
  maxLength: 128,
  description:
    "whsec_ and 24 to 64 bytes in base64; the one of before also signs for 24 hours after a change",
});
const Paused = Type.Boolean({ description: "nothing is sent until it is false again" });

/** Body of a request that creates a webhook. */
export const NewAuditWebhook = Type.Object(
  {
    name: WebhookName,
    url: Url,
    secret: Type.Optional(Secret),
    paused: Type.Optional(Paused),
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description:
          "sequence of the last entry that the receiver has already; all that is kept is sent without it",
      }),
    ),
  },
  { additionalProperties: false, title: "NewAuditWebhook" },
);

/** Body of a request that changes a webhook: what it names. */
export const AuditWebhookChange = Type.Object(
  {
    url: Type.Optional(Url),
    secret: Type.Optional(Secret),
    paused: Type.Optional(Paused),
    new_secret: Type.Optional(Type.Literal(true)),
  },
  { additionalProperties: false, title: "AuditWebhookChange" },
);

export const AuditWebhookView = Type.Object(
  {
    id: Type.String(),
    name: WebhookName,
    url: Type.String({ description: "without its query" }),
    paused: Type.Boolean(),
    after: Type.Integer({ description: "sequence of the last entry that the receiver has" }),
    attempts: Type.Integer({ description: "for what follows, which failed" }),
    problem: Type.Optional(Type.String({ description: "of the last attempt" })),
    failing_since: Type.Optional(Type.String()),
    next_at: Type.Optional(Type.String()),
    delivered_at: Type.Optional(Type.String()),
    secret: Type.Optional(
      Type.String({ description: "only in the answer to the request that makes it" }),
    ),
    former_secret_until: Type.Optional(Type.String()),
    actor: Type.String(),
    created_at: Type.String(),
    updated_at: Type.String(),
  },
  { title: "AuditWebhook" },
);

export const AuditDeliveryView = Type.Object(
  {
    at: Type.String(),
    first: Type.Integer({ description: "sequence of its first entry" }),
    last: Type.Integer({ description: "sequence of its last entry" }),
    delivered: Type.Boolean(),
    status: Type.Optional(Type.Integer({ description: "of the answer" })),
    problem: Type.Optional(Type.String()),
  },
  { title: "AuditDelivery" },
);

/** A request that was sent to a webhook. */
export function auditDeliveryViewOf({
  atMs,
  first,
  last,
  status,
  problem,
}: AuditDelivery): Static<typeof AuditDeliveryView> {
  return {
    at: timeOf(atMs),
    first: Number(first),
    last: Number(last),
    delivered: problem === "",
    ...(status !== 0 && { status }),
    ...(problem !== "" && { problem }),
  };
}

/** A webhook as the API shows it: without its secrets. */
export function auditWebhookViewOf(
  webhook: AuditWebhook,
  nowMs: number,
): Static<typeof AuditWebhookView> {
  const { id, name, shownUrl, paused, after, attempts, problem, actor } = webhook;
  const { failingSinceMs, nextAtMs, deliveredAtMs, formerUntilMs } = webhook;
  return {
    id,
    name,
    url: shownUrl,
    paused,
    after: Number(after),
    attempts,
    ...(problem !== "" && { problem }),
    ...(failingSinceMs !== 0n && { failing_since: timeOf(failingSinceMs) }),
    ...(nextAtMs !== 0n && { next_at: timeOf(nextAtMs) }),
    ...(deliveredAtMs !== 0n && { delivered_at: timeOf(deliveredAtMs) }),
    ...(Number(formerUntilMs) > nowMs && { former_secret_until: timeOf(formerUntilMs) }),
    actor,
    created_at: timeOf(webhook.createdAtMs),
    updated_at: timeOf(webhook.updatedAtMs),
  };
}
