import {
  NotificationDestination,
  NotificationDestination_Kind,
  NotificationSettings,
} from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { NOTIFICATION_EVENTS } from "../../domain/notification-events.ts";
import {
  deliveryPlace,
  notificationSettingsPlace,
  type ProjectReference,
} from "../../domain/notification-places.ts";
import { decodeRecord } from "../../domain/record-kind.ts";
import { projectTenancy } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { makeSecret, sealForDestination, secretBytes } from "../../notify/destination-secrets.ts";
import { redeliver, retryFirst, sendTest } from "../../notify/request-delivery.ts";
import { idOf, type Row, type Transaction, transact } from "../../queue/transaction.ts";
import {
  type ApiParts,
  checkProjectName,
  etagOf,
  MatchHeader,
  ProjectName,
  ProjectParams,
  requireMatch,
  routeSchema,
} from "../api-parts.ts";
import { requireOfKind, shownUrl } from "./destination-rules.ts";
import {
  changedEvents,
  DeliveryView,
  DestinationChange,
  DestinationName,
  DestinationView,
  deliveryViewOf,
  destinationViewOf,
  NewDestination,
  STORED_NOTIFICATION_KINDS,
  waitViewOf,
} from "./notification-view.ts";

const ALL = "/projects/:project/notifications";
const ONE = `${ALL}/:destination`;
const DestinationParams = Type.Object({ project: ProjectName, destination: DestinationName });
const DeliveryParams = Type.Object({
  project: ProjectName,
  destination: DestinationName,
  delivery: Type.String({ pattern: "^[0-9A-Z]{26}$" }),
});
const CHANGED = { 412: "it changed since it was read", 428: "If-Match is missing" };
const KIND = SERVER_KINDS.notificationSettings;
/** Destinations of a project. */
const MAX_DESTINATIONS = 20;
/** How long the secret of before a change signs, too. */
const FORMER_MS = 24 * 3_600_000;
/** Deliveries that are listed, the newest. */
const MAX_LISTED = 100;
/** Tests that are in progress at once, as each may take its whole time. */
const MAX_TESTS = 16;

type InProject = { Params: Static<typeof ProjectParams> };
type InDestination = { Params: Static<typeof DestinationParams> };
type InDelivery = { Params: Static<typeof DeliveryParams> };
type Settings = Omit<Static<typeof DestinationChange>, "new_secret">;

/** `/projects/{project}/notifications` */
export function notificationRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, keys, principalOf, clock, notifications, stopping } = parts;
  let tests = 0;
  const projectOf = (
    request: FastifyRequest,
    { project }: { readonly project: string },
  ): ProjectReference => {
    checkProjectName(project);
    return { account: principalOf(request).account, project };
  };
  const readDestinations = async (
    project: ProjectReference,
  ): Promise<readonly NotificationDestination[]> => {
    const id = idOf(KIND, notificationSettingsPlace(project));
    const found = await readStored(storage, "strong", id);
    return found === undefined ? [] : decodeRecord(KIND, found).destinations;
  };
  const readDestination = async (
    request: FastifyRequest<InDestination>,
  ): Promise<{ project: ProjectReference; destination: NotificationDestination }> => {
    const project = projectOf(request, request.params);
    const { destination: name } = request.params;
    const destination = (await readDestinations(project)).find((one) => one.name === name);
    if (destination === undefined) throw noDestination(name);
    return { project, destination };
  };
  /** What a request sets; address and secret are encrypted for the transaction that writes it. */
  const changeOf = async (
    tx: Transaction,
    project: ProjectReference,
    { id, kind }: Pick<NotificationDestination, "id" | "kind">,
    settings: Settings,
  ): Promise<Partial<NotificationDestination>> => {
    requireOfKind(kind, settings);
    const { url, from, to, secret, events, stacks, paused } = settings;
    if (secret !== undefined) secretBytes(secret);
    return {
      ...(url !== undefined && {
        url: await sealForDestination(tx, keys, project, [id, "url"], url),
        shownUrl: shownUrl(notifications.hosts, url, kind),
      }),
      ...(from !== undefined && { sender: from }),
      ...(to !== undefined && { recipients: [...new Set(to)] }),
      ...(secret !== undefined && {
        secret: await sealForDestination(tx, keys, project, [id, "secret"], secret),
      }),
      ...(events !== undefined && { events: [...new Set(events)] }),
      ...(stacks !== undefined && { stacks: [...new Set(stacks)] }),
      ...(paused !== undefined && { paused }),
    };
  };

  fastify.get<InProject>(
    ALL,
    {
      schema: routeSchema(
        "List the destinations of the events of a project",
        "ListNotificationDestinations",
        { 200: Type.Object({ destinations: Type.Array(DestinationView) }) },
        { params: ProjectParams },
      ),
      config: { access: "operator" },
    },
    async (request) => {
      const found = await readDestinations(projectOf(request, request.params));
      return { destinations: found.map((one) => destinationViewOf(one, clock.wallMs())) };
    },
  );

  fastify.post<InProject & { Body: Static<typeof NewDestination> }>(
    ALL,
    {
      schema: routeSchema(
        "Create a destination, which gets events from then on",
        "CreateNotificationDestination",
        { 201: DestinationView },
        { params: ProjectParams, body: NewDestination },
        { 409: "the name is in use", 422: "a setting is not possible" },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const project = projectOf(request, request.params);
      const { name, kind: kindName, ...given } = request.body;
      const kind = STORED_NOTIFICATION_KINDS[kindName];
      const id = parts.token();
      if (kind === NotificationDestination_Kind.KIND_EMAIL && (!given.from || !given.to)) {
        throw new ServerError("unprocessable", "a destination of the kind email needs from and to");
      }
      const isWebhook = kind === NotificationDestination_Kind.KIND_WEBHOOK;
      const secret = given.secret ?? (isWebhook ? makeSecret() : undefined);
      const settings = {
        events: [...NOTIFICATION_EVENTS],
        ...given,
        ...(secret !== undefined && { secret }),
      };
      const { actor } = principalOf(request);
      const made = await transact(parts.audited(request), async (tx) => {
        const change = await changeOf(tx, project, { id, kind }, settings);
        const row = await settingsRow(tx, project);
        const { destinations } = row.message;
        if (destinations.some((one) => one.name === name)) {
          throw new ServerError("name_taken", `the project has a destination "${name}"`);
        }
        if (destinations.length >= MAX_DESTINATIONS) {
          throw new ServerError(
            "unprocessable",
            `a project has at most ${MAX_DESTINATIONS} destinations`,
          );
        }
        const at = BigInt(tx.nowMs);
        const empty = NotificationDestination.create({ id, name, kind, actor });
        const times = { createdAtMs: at, updatedAtMs: at, version: tx.generation };
        const destination = { ...empty, ...change, ...times };
        tx.update(row, { destinations: [...destinations, destination] });
        return destination;
      });
      const location = `/api/v1/projects/${project.project}/notifications/${name}`;
      reply.headers({ location, etag: etagOf(made.version) });
      const view = destinationViewOf(made, clock.wallMs());
      return reply.code(201).send({ ...view, ...(secret !== undefined && { secret }) });
    },
  );

  fastify.get<InDestination>(
    ONE,
    {
      schema: routeSchema(
        "Show a destination; its entity tag is what If-Match takes",
        "ShowNotificationDestination",
        { 200: DestinationView },
        { params: DestinationParams },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const { destination } = await readDestination(request);
      reply.header("etag", etagOf(destination.version));
      return destinationViewOf(destination, clock.wallMs());
    },
  );

  fastify.patch<InDestination & { Body: Static<typeof DestinationChange> }>(
    ONE,
    {
      schema: routeSchema(
        "Change the settings of a destination that the request names",
        "ChangeNotificationDestination",
        { 200: DestinationView },
        { params: DestinationParams, body: DestinationChange, headers: MatchHeader },
        { ...CHANGED, 422: "a setting is not possible" },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const { project, destination: known } = await readDestination(request);
      const { new_secret: wantsSecret, ...given } = request.body;
      if (wantsSecret === true && given.secret !== undefined) {
        throw new ServerError("unprocessable", "either secret or new_secret is given");
      }
      const secret = wantsSecret === true ? makeSecret() : given.secret;
      const settings = { ...given, ...(secret !== undefined && { secret }) };
      const { actor } = principalOf(request);
      const changed = await transact(parts.audited(request), async (tx) => {
        const row = await settingsRow(tx, project);
        const { destinations } = row.message;
        const before = destinations.find(({ id }) => id === known.id);
        if (before === undefined) throw noDestination(known.name);
        requireMatch(request, before.version);
        const change = await changeOf(tx, project, known, settings);
        const after: NotificationDestination = {
          ...before,
          ...change,
          ...(change.events !== undefined && {
            events: changedEvents(before.events, change.events),
          }),
          ...(secret !== undefined && {
            formerSecret: before.secret,
            formerUntilMs: BigInt(tx.nowMs + FORMER_MS),
          }),
          actor,
          updatedAtMs: BigInt(tx.nowMs),
          version: tx.generation,
        };
        const all = destinations.map((one) => (one.id === known.id ? after : one));
        tx.update(row, { destinations: all });
        return after;
      });
      if (given.url !== undefined) await retryFirst(parts, project, changed);
      reply.header("etag", etagOf(changed.version));
      const view = destinationViewOf(changed, clock.wallMs());
      return { ...view, ...(wantsSecret === true && secret !== undefined && { secret }) };
    },
  );

  fastify.delete<InDestination>(
    ONE,
    {
      schema: routeSchema(
        "Delete a destination; what waits for it is not sent",
        "DeleteNotificationDestination",
        { 204: Type.Null() },
        { params: DestinationParams, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const project = projectOf(request, request.params);
      const { destination: name } = request.params;
      await transact(parts.audited(request), async (tx) => {
        const row = await settingsRow(tx, project);
        const { destinations } = row.message;
        const found = destinations.find((one) => one.name === name);
        if (found === undefined) throw noDestination(name);
        requireMatch(request, found.version);
        tx.update(row, { destinations: destinations.filter(({ id }) => id !== found.id) });
      });
      return reply.code(204).send();
    },
  );

  fastify.post<InDestination>(
    `${ONE}/test`,
    {
      schema: routeSchema(
        "Send a test to a destination, once and at once",
        "TestNotificationDestination",
        { 200: DeliveryView },
        { params: DestinationParams },
      ),
      config: { access: "admin", once: "begun-first" },
    },
    async (request) => {
      const { project, destination } = await readDestination(request);
      if (tests >= MAX_TESTS) {
        throw new ServerError("rate_limited", "other tests are in progress; try again in a moment");
      }
      tests += 1;
      try {
        const { actor } = principalOf(request);
        const asked = { actor, signal: stopping };
        const { event, ...ended } = await sendTest(
          { ...parts, ...notifications },
          project,
          destination,
          asked,
        );
        if (event === undefined) throw new TypeError("a delivery has an event");
        return deliveryViewOf({ ...ended, event });
      } finally {
        tests -= 1;
      }
    },
  );

  fastify.get<InDestination>(
    `${ONE}/deliveries`,
    {
      schema: routeSchema(
        "List what was sent to a destination in the last days, and what waits, the newest first",
        "ListNotificationDeliveries",
        { 200: Type.Object({ deliveries: Type.Array(DeliveryView) }) },
        { params: DestinationParams },
      ),
      config: { access: "operator" },
    },
    async (request) => {
      const { project, destination } = await readDestination(request);
      const { notificationEvent, notificationDelivery } = SERVER_KINDS;
      const tenancy = projectTenancy(project);
      const prefix = deliveryPlace(project, destination).name;
      const [waiting, ended] = await Promise.all([
        storage.list("strong", notificationEvent.type, tenancy, ""),
        storage.list("strong", notificationDelivery.type, tenancy, prefix),
      ]);
      const views = [
        ...waiting.flatMap((one) => {
          const event = decodeRecord(notificationEvent, one);
          const wait = event.waits.find((each) => each.destination === destination.id);
          return wait === undefined ? [] : [waitViewOf(event, wait)];
        }),
        ...ended.flatMap((one) => {
          const { event, ...rest } = decodeRecord(notificationDelivery, one);
          return event === undefined ? [] : [deliveryViewOf({ ...rest, event })];
        }),
      ];
      const newest = views.toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, MAX_LISTED);
      return { deliveries: newest };
    },
  );

  fastify.post<InDelivery>(
    `${ONE}/deliveries/:delivery/redeliver`,
    {
      schema: routeSchema(
        "Send an event to a destination again, under its former id",
        "RedeliverNotification",
        { 202: Type.Object({}) },
        { params: DeliveryParams },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const { project, destination } = await readDestination(request);
      await redeliver(parts.audited(request), project, destination, request.params.delivery);
      return reply.code(202).send({});
    },
  );
}

async function settingsRow(
  tx: Transaction,
  project: ProjectReference,
): Promise<Row<NotificationSettings>> {
  return tx.findOrNew(KIND, notificationSettingsPlace(project), () =>
    NotificationSettings.create(),
  );
}

function noDestination(name: string): ServerError {
  return new ServerError("not_found", `the project has no destination "${name}"`);
}
