import {
  type NotificationDelivery,
  NotificationDelivery_State,
  type NotificationDestination,
  NotificationDestination_Kind,
  type NotificationEvent,
  type NotificationWait,
} from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import {
  NOTIFICATION_EVENTS,
  type NotificationEventName,
} from "../../domain/notification-events.ts";
import { STACK_PATTERN } from "../../domain/stack-pattern.ts";
import { timeOf } from "../runs/run-view.ts";

export const DestinationName = Type.String({
  pattern: "^[a-z0-9][a-z0-9-]{0,62}$",
  description: "unique in the project",
});

const Kinds = Type.Union([Type.Literal("webhook"), Type.Literal("slack"), Type.Literal("email")], {
  title: "NotificationKind",
  description:
    "JSON with a signature, the text of the incoming webhook of a chat, or mails through an SMTP server",
});
type KindName = Static<typeof Kinds>;

export const STORED_NOTIFICATION_KINDS: Readonly<Record<KindName, NotificationDestination_Kind>> = {
  webhook: NotificationDestination_Kind.KIND_WEBHOOK,
  slack: NotificationDestination_Kind.KIND_SLACK,
  email: NotificationDestination_Kind.KIND_EMAIL,
};

const Events = Type.Array(
  Type.Unsafe<NotificationEventName>({
    type: "string",
    title: "NotificationEvent",
    enum: [...NOTIFICATION_EVENTS],
  }),
  { maxItems: NOTIFICATION_EVENTS.length, description: "all by default" },
);
const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  description:
    "called with POST; over TLS, or on this machine; shown without its path for a chat. For email smtps://USER:PASSWORD@HOST:PORT, or smtp:// for STARTTLS; shown without user and password",
});
const MailAddress = Type.String({
  maxLength: 254,
  pattern: "^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]{0,187}[A-Za-z0-9])?$",
});
const Recipients = Type.Array(MailAddress, {
  minItems: 1,
  maxItems: 20,
  description: "of mails; all are in each mail",
});
const Secret = Type.String({
  minLength: 1,
  maxLength: 128,
  description:
    "whsec_ and 24 to 64 bytes in base64; the one of before also signs for 24 hours after a change",
});

const SETTINGS = {
  url: Type.Optional(Url),
  from: Type.Optional(MailAddress),
  to: Type.Optional(Recipients),
  secret: Type.Optional(Secret),
  events: Type.Optional(Events),
  stacks: Type.Optional(
    Type.Array(Type.String({ pattern: STACK_PATTERN }), {
      maxItems: 50,
      description: "patterns of names; all stacks without it",
    }),
  ),
  paused: Type.Optional(
    Type.Boolean({ description: "further events are not noted for it; what waits is still sent" }),
  ),
};

/** Body of a request that creates a destination. */
export const NewDestination = Type.Object(
  { ...SETTINGS, name: DestinationName, kind: Kinds, url: Url },
  { additionalProperties: false, title: "NewNotificationDestination" },
);

/** Body of a request that changes a destination: what it names. */
export const DestinationChange = Type.Object(
  { ...SETTINGS, new_secret: Type.Optional(Type.Literal(true)) },
  { additionalProperties: false, title: "NotificationDestinationChange" },
);

export const DestinationView = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    kind: Kinds,
    url: Type.String({ description: "without what may give access" }),
    from: Type.Optional(Type.String({ description: "of mails" })),
    to: Type.Optional(Type.Array(Type.String(), { description: "of mails" })),
    events: Events,
    stacks: Type.Array(Type.String()),
    paused: Type.Boolean(),
    secret: Type.Optional(
      Type.String({ description: "only in the answer to the request that makes it" }),
    ),
    former_secret_until: Type.Optional(Type.String()),
    actor: Type.String(),
    created_at: Type.String(),
    updated_at: Type.String(),
  },
  { title: "NotificationDestination" },
);

/** A destination as the API shows it: without its secrets. */
export function destinationViewOf(
  destination: NotificationDestination,
  nowMs: number,
): Static<typeof DestinationView> {
  const { id, name, shownUrl, stacks, paused, actor, formerUntilMs, recipients } = destination;
  return {
    id,
    name,
    kind: KIND_NAMES.get(destination.kind) ?? "webhook",
    url: shownUrl,
    ...(recipients.length > 0 && { from: destination.sender, to: recipients }),
    events: knownEvents(destination.events),
    stacks,
    paused,
    ...(Number(formerUntilMs) > nowMs && { former_secret_until: timeOf(formerUntilMs) }),
    actor,
    created_at: timeOf(destination.createdAtMs),
    updated_at: timeOf(destination.updatedAtMs),
  };
}

const KIND_NAMES: ReadonlyMap<NotificationDestination_Kind, KindName> = new Map(
  (Object.keys(STORED_NOTIFICATION_KINDS) as KindName[]).map((name) => [
    STORED_NOTIFICATION_KINDS[name],
    name,
  ]),
);

/** Those of a newer release are not known here. */
function knownEvents(events: readonly string[]): NotificationEventName[] {
  return NOTIFICATION_EVENTS.filter((event) => events.includes(event));
}

/** What a destination gets after a change: events of a newer release stay, as what was shown to the user did not have them. */
export function changedEvents(before: readonly string[], given: readonly string[]): string[] {
  const known: readonly string[] = NOTIFICATION_EVENTS;
  return [...new Set([...given, ...before.filter((event) => !known.includes(event))])];
}

const States = Type.Union(
  [
    Type.Literal("waiting"),
    Type.Literal("delivered"),
    Type.Literal("dead"),
    Type.Literal("dropped"),
  ],
  {
    title: "NotificationState",
    description:
      "dead: given up after 10 attempts or 24 hours; dropped: more than 1,000 events waited",
  },
);

export const DeliveryView = Type.Object(
  {
    id: Type.String({ description: "webhook-id of every attempt" }),
    event: Type.String(),
    at: Type.String(),
    state: States,
    attempts: Type.Integer(),
    status: Type.Optional(Type.Integer({ description: "of the last answer" })),
    problem: Type.Optional(Type.String()),
    next_at: Type.Optional(Type.String()),
    ended_at: Type.Optional(Type.String()),
    stack: Type.Optional(Type.String({ description: "id of the stack" })),
    run: Type.Optional(Type.String()),
  },
  { title: "NotificationDelivery" },
);

/** An event that waits for a destination. */
export function waitViewOf(
  event: NotificationEvent,
  { attempts, problem, nextAtMs }: NotificationWait,
): Static<typeof DeliveryView> {
  return {
    ...eventViewOf(event),
    state: "waiting",
    attempts,
    ...(problem !== "" && { problem }),
    next_at: timeOf(nextAtMs),
  };
}

/** A delivery that has ended. */
export function deliveryViewOf(
  delivery: NotificationDelivery & { readonly event: NotificationEvent },
): Static<typeof DeliveryView> {
  const { event, state, attempts, status, problem, endedAtMs } = delivery;
  return {
    ...eventViewOf(event),
    state: STATES.get(state) ?? "dead",
    attempts,
    ...(status !== 0 && { status }),
    ...(problem !== "" && { problem }),
    ended_at: timeOf(endedAtMs),
  };
}

const STATES: ReadonlyMap<NotificationDelivery_State, Static<typeof States>> = new Map([
  [NotificationDelivery_State.STATE_DELIVERED, "delivered"],
  [NotificationDelivery_State.STATE_DEAD, "dead"],
  [NotificationDelivery_State.STATE_DROPPED, "dropped"],
]);

function eventViewOf({ id, event, atMs, stack, run }: NotificationEvent) {
  return {
    id,
    event,
    at: timeOf(atMs),
    ...(stack !== "" && { stack }),
    ...(run !== "" && { run }),
  };
}
