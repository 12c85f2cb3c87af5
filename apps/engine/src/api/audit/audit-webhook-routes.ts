import { AuditWebhook, NotificationDestination_Kind } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { accountTenancy } from "../../access/access-places.ts";
import { sendEntries } from "../../audit-webhook/send-entries.ts";
import { auditWebhookPlace } from "../../audit-webhook/webhook-place.ts";
import { sealForWebhook } from "../../audit-webhook/webhook-secrets.ts";
import { decodeRecord } from "../../domain/record-kind.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { makeSecret, secretBytes } from "../../notify/destination-secrets.ts";
import { requireRoom } from "../../queue/require-room.ts";
import { idOf, transact } from "../../queue/transaction.ts";
import { type ApiParts, etagOf, MatchHeader, requireMatch, routeSchema } from "../api-parts.ts";
import { shownUrl } from "../notifications/destination-rules.ts";
import {
  AuditDeliveryView,
  AuditWebhookChange,
  AuditWebhookView,
  auditDeliveryViewOf,
  auditWebhookViewOf,
  NewAuditWebhook,
  WebhookName,
} from "./audit-webhook-view.ts";

const ALL = "/audit/webhooks";
const ONE = `${ALL}/:webhook`;
const Params = Type.Object({ webhook: WebhookName });
const CHANGED = { 412: "it changed since it was read", 428: "If-Match is missing" };
const KIND = SERVER_KINDS.auditWebhook;
/** Webhooks of an account. */
const MAX_WEBHOOKS = 5;
/** How long the secret of before a change signs, too. */
const FORMER_MS = 24 * 3_600_000;
/** Tests that are in progress at once, as each may take its whole time. */
const MAX_TESTS = 8;

type OfWebhook = { Params: Static<typeof Params> };

const TestView = Type.Object(
  {
    delivered: Type.Boolean(),
    status: Type.Optional(Type.Integer({ description: "of the answer" })),
    problem: Type.Optional(Type.String()),
  },
  { title: "AuditWebhookTest" },
);

/** `/audit/webhooks`: receivers that are sent the trail of the account. */
export function auditWebhookRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, clock, principalOf, notifications, stopping } = parts;
  const { hosts, secretKey } = { hosts: notifications.hosts, secretKey: parts.auditWebhookKey };
  let tests = 0;
  const listAll = async (request: FastifyRequest): Promise<readonly AuditWebhook[]> => {
    const tenancy = accountTenancy(principalOf(request).account);
    const found = await storage.list("strong", KIND.type, tenancy, "");
    return found.map((one) => decodeRecord(KIND, one)).toSorted((a, b) => compare(a.name, b.name));
  };
  const placeOf = (request: FastifyRequest<OfWebhook>) =>
    auditWebhookPlace(principalOf(request).account, request.params.webhook);
  const readOne = async (request: FastifyRequest<OfWebhook>): Promise<AuditWebhook> => {
    const found = await readStored(storage, "strong", idOf(KIND, placeOf(request)));
    if (found === undefined) throw noWebhook(request.params.webhook);
    return decodeRecord(KIND, found);
  };
  /** Address and secret as they are stored. */
  const sealed = async (
    request: FastifyRequest,
    id: string,
    { url, secret }: { readonly url?: string | undefined; readonly secret?: string | undefined },
  ): Promise<Partial<AuditWebhook>> => {
    if (secret !== undefined) secretBytes(secret);
    const shown =
      url === undefined ? "" : shownUrl(hosts, url, NotificationDestination_Kind.KIND_WEBHOOK);
    const key = await secretKey();
    const place = { account: principalOf(request).account, id };
    return {
      ...(url !== undefined && { url: sealForWebhook(key, place, "url", url), shownUrl: shown }),
      ...(secret !== undefined && { secret: sealForWebhook(key, place, "secret", secret) }),
    };
  };

  fastify.get(
    ALL,
    {
      schema: routeSchema(
        "List the webhooks that are sent the audit trail of the account",
        "ListAuditWebhooks",
        { 200: Type.Object({ webhooks: Type.Array(AuditWebhookView) }) },
      ),
      config: { access: "account-admin" },
    },
    async (request) => ({
      webhooks: (await listAll(request)).map((one) => auditWebhookViewOf(one, clock.wallMs())),
    }),
  );

  fastify.post<{ Body: Static<typeof NewAuditWebhook> }>(
    ALL,
    {
      schema: routeSchema(
        "Create a webhook that is sent the audit trail of the account",
        "CreateAuditWebhook",
        { 201: AuditWebhookView },
        { body: NewAuditWebhook },
        { 409: "the name is in use", 422: "a setting is not possible" },
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      const { account, actor } = principalOf(request);
      const { name, url, paused = false, after = 0 } = request.body;
      const id = parts.token();
      const secret = request.body.secret ?? makeSecret();
      const change = await sealed(request, id, { url, secret });
      const made = await transact(parts.audited(request), async (tx) => {
        const place = auditWebhookPlace(account, name);
        if ((await tx.find(KIND, place)) !== undefined) {
          throw new ServerError("name_taken", `the account has an audit webhook "${name}"`);
        }
        const detail = `an account has at most ${MAX_WEBHOOKS} audit webhooks`;
        const { tenancy } = place;
        await requireRoom(parts, tx, { kind: KIND, tenancy, most: MAX_WEBHOOKS, detail });
        const at = BigInt(Math.floor(tx.nowMs));
        const times = { createdAtMs: at, updatedAtMs: at, version: tx.generation };
        const empty = AuditWebhook.create({ id, name, paused, after: BigInt(after), actor });
        const webhook: AuditWebhook = { ...empty, ...change, ...times };
        tx.create(KIND, place, webhook);
        return webhook;
      });
      const location = `/api/v1${ALL}/${name}`;
      reply.headers({ location, etag: etagOf(made.version) });
      return reply.code(201).send({ ...auditWebhookViewOf(made, clock.wallMs()), secret });
    },
  );

  fastify.get<OfWebhook>(
    ONE,
    {
      schema: routeSchema(
        "Show an audit webhook; its entity tag is what If-Match takes",
        "ShowAuditWebhook",
        { 200: AuditWebhookView },
        { params: Params },
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      const webhook = await readOne(request);
      reply.header("etag", etagOf(webhook.version));
      return auditWebhookViewOf(webhook, clock.wallMs());
    },
  );

  fastify.patch<OfWebhook & { Body: Static<typeof AuditWebhookChange> }>(
    ONE,
    {
      schema: routeSchema(
        "Change the settings of an audit webhook that the request names; it is tried at once",
        "ChangeAuditWebhook",
        { 200: AuditWebhookView },
        { params: Params, body: AuditWebhookChange, headers: MatchHeader },
        { ...CHANGED, 422: "a setting is not possible" },
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      const { actor } = principalOf(request);
      const { id } = await readOne(request);
      const { url, paused, new_secret: wantsSecret } = request.body;
      if (wantsSecret === true && request.body.secret !== undefined) {
        throw new ServerError("unprocessable", "either secret or new_secret is given");
      }
      const secret = wantsSecret === true ? makeSecret() : request.body.secret;
      const change = await sealed(request, id, { url, secret });
      const changed = await transact(parts.audited(request), async (tx) => {
        const row = await tx.find(KIND, placeOf(request));
        if (row?.message.id !== id) throw noWebhook(request.params.webhook);
        requireMatch(request, row.message.version);
        const nowMs = Math.floor(tx.nowMs);
        tx.update(row, {
          ...change,
          ...(paused !== undefined && { paused }),
          ...(secret !== undefined && {
            formerSecret: row.message.secret,
            formerUntilMs: BigInt(nowMs + FORMER_MS),
          }),
          attempts: 0,
          nextAtMs: 0n,
          actor,
          updatedAtMs: BigInt(nowMs),
          version: tx.generation,
        });
        return row.message;
      });
      reply.header("etag", etagOf(changed.version));
      const view = auditWebhookViewOf(changed, clock.wallMs());
      return { ...view, ...(wantsSecret === true && secret !== undefined && { secret }) };
    },
  );

  fastify.delete<OfWebhook>(
    ONE,
    {
      schema: routeSchema(
        "Delete an audit webhook; nothing more is sent to it",
        "DeleteAuditWebhook",
        { 204: Type.Null() },
        { params: Params, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      await transact(parts.audited(request), async (tx) => {
        const row = await tx.find(KIND, placeOf(request));
        if (row === undefined) throw noWebhook(request.params.webhook);
        requireMatch(request, row.message.version);
        tx.remove(row);
      });
      return reply.code(204).send();
    },
  );

  fastify.get<OfWebhook>(
    `${ONE}/deliveries`,
    {
      schema: routeSchema(
        "List the last requests that were sent to an audit webhook, the newest first",
        "ListAuditDeliveries",
        { 200: Type.Object({ deliveries: Type.Array(AuditDeliveryView) }) },
        { params: Params },
      ),
      config: { access: "account-admin" },
    },
    async (request) => {
      const { deliveries } = await readOne(request);
      return { deliveries: deliveries.toReversed().map(auditDeliveryViewOf) };
    },
  );

  fastify.post<OfWebhook>(
    `${ONE}/test`,
    {
      schema: routeSchema(
        "Send a test without entries to an audit webhook, once and at once",
        "TestAuditWebhook",
        { 200: TestView },
        { params: Params },
      ),
      config: { access: "account-admin", once: "begun-first" },
    },
    async (request) => {
      const webhook = await readOne(request);
      if (tests >= MAX_TESTS) {
        throw new ServerError("rate_limited", "other tests are in progress; try again in a moment");
      }
      tests += 1;
      try {
        const { account } = principalOf(request);
        const message = { id: parts.token(), entries: [], nowMs: clock.wallMs() };
        const sent = { hosts, secretKey };
        const ended = await sendEntries(sent, account, webhook, message, stopping);
        const { isDelivered: delivered, status, problem } = ended;
        return {
          delivered,
          ...(status !== 0 && { status }),
          ...(problem !== "" && { problem }),
        };
      } finally {
        tests -= 1;
      }
    },
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function noWebhook(name: string): ServerError {
  return new ServerError("not_found", `the account has no audit webhook "${name}"`);
}
