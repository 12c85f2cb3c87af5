import { UserIdentity } from "@stackwright/proto/stackwright";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { identityPlace, identityPlaces, memberOfAccount } from "../../access/access-places.ts";
import { type LinkedIdentity, listIdentities } from "../../access/linked-identities.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { transact } from "../../queue/transaction.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { timeOf } from "../runs/run-view.ts";
import { ProviderName, SubjectName } from "./access-view.ts";

const IdentityView = Type.Object(
  {
    id: Type.String(),
    issuer: Type.String(),
    subject: Type.String({ description: "what the issuer calls the user" }),
    created_at: Type.Optional(Type.String()),
    actor: Type.Optional(Type.String({ description: "who linked it; none: the sign-in did" })),
  },
  { title: "UserIdentity" },
);
const NewIdentity = Type.Object(
  { provider: ProviderName, subject: Type.String({ minLength: 1, maxLength: 255 }) },
  { additionalProperties: false, title: "NewUserIdentity" },
);
const UserParams = Type.Object({ user: SubjectName });
const IdentityParams = Type.Object({
  user: SubjectName,
  identity: Type.String({ pattern: "^[0-9a-f]{64}$" }),
});
const MAX_IDENTITIES = 20;

/** `/users/{user}/identities`: what identity providers call a user: who signs in with one is that user. */
export function identityRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { access, sessions, principalOf } = parts;
  const KIND = SERVER_KINDS.userIdentity;
  const config = { access: "account-admin" } as const;

  fastify.get<{ Params: Static<typeof UserParams> }>(
    "/users/:user/identities",
    {
      schema: routeSchema(
        "List the identities with which a user signs in",
        "ListUserIdentities",
        { 200: Type.Object({ identities: Type.Array(IdentityView) }) },
        { params: UserParams },
      ),
      config,
    },
    async (request) => {
      const { account } = principalOf(request);
      const { user } = request.params;
      const place = memberOfAccount(account, user);
      const { message } = await transact(parts, async (tx) => tx.get(SERVER_KINDS.user, place));
      const identities = await listIdentities(parts, account, user);
      // An identity of a former release has not what it is made of; the user has that of its last sign-in.
      const own = identityPlace(account, message.issuer, message.subject).name;
      return {
        identities: identities.map((one) =>
          viewOf(
            one.issuer === "" && one.id === own
              ? { ...one, issuer: message.issuer, subject: message.subject }
              : one,
          ),
        ),
      };
    },
  );

  fastify.post<{ Params: Static<typeof UserParams>; Body: Static<typeof NewIdentity> }>(
    "/users/:user/identities",
    {
      schema: routeSchema(
        "Link an identity to a user: who signs in with it is this user from then on",
        "LinkUserIdentity",
        { 201: IdentityView },
        { params: UserParams, body: NewIdentity },
        { 409: "it is linked to a user", 422: "there is no such provider, or a service account" },
      ),
      config,
    },
    async (request, reply) => {
      const { account, actor } = principalOf(request);
      const { user } = request.params;
      const { provider, subject } = request.body;
      const found = access.issuersOf(account).find((one) => one.provider === provider);
      if (found === undefined) {
        throw new ServerError(
          "unprocessable",
          `users of the account sign in with no "${provider}"`,
        );
      }
      const { issuer } = found;
      const places = identityPlaces(account, issuer, subject);
      const [place] = places;
      const made = await transact(parts.audited(request), async (tx) => {
        const row = await tx.get(SERVER_KINDS.user, memberOfAccount(account, user));
        if (row.message.service) {
          throw new ServerError(
            "unprocessable",
            `"${user}" is a service account: it never signs in`,
          );
        }
        // Every new identity writes the user, so that two at once do not both find room.
        tx.update(row, {});
        if ((await listIdentities(parts, account, user)).length >= MAX_IDENTITIES) {
          throw new ServerError("unprocessable", `a user has at most ${MAX_IDENTITIES} identities`);
        }
        for (const one of places) {
          const known = await tx.find(KIND, one);
          if (known === undefined) continue;
          throw new ServerError(
            "conflict",
            `it is the identity of the user "${known.message.user}"`,
          );
        }
        const createdAtMs = BigInt(tx.nowMs);
        const identity = UserIdentity.create({ user, issuer, subject, actor, createdAtMs });
        tx.create(KIND, place, identity);
        return identity;
      });
      return reply.code(201).send(viewOf({ ...made, id: place.name }));
    },
  );

  fastify.delete<{ Params: Static<typeof IdentityParams> }>(
    "/users/:user/identities/:identity",
    {
      schema: routeSchema(
        "Unlink an identity from its user, and end the sessions of the user",
        "UnlinkUserIdentity",
        { 204: Type.Null() },
        { params: IdentityParams },
      ),
      config,
    },
    async (request, reply) => {
      const { account } = principalOf(request);
      const { user, identity } = request.params;
      await transact(parts.audited(request), async (tx) => {
        const row = await tx.find(KIND, memberOfAccount(account, identity));
        if (row?.message.user !== user) {
          throw new ServerError("not_found", `the user has no identity "${identity}"`);
        }
        tx.remove(row);
        const owner = await tx.find(SERVER_KINDS.user, memberOfAccount(account, user));
        // Groups of the identity are no longer groups of the user.
        const last = owner && identityPlaces(account, owner.message.issuer, owner.message.subject);
        if (owner !== undefined && last?.some(({ name }) => name === identity) === true) {
          tx.update(owner, { groups: [], issuer: "", subject: "" });
        }
      });
      access.forget(account);
      for (const { id } of await sessions.list(account, user)) {
        await sessions.end(account, id, user);
      }
      return reply.code(204).send();
    },
  );
}

function viewOf(identity: LinkedIdentity): Static<typeof IdentityView> {
  const { id, issuer, subject, createdAtMs, actor } = identity;
  return {
    id,
    issuer,
    subject,
    ...(createdAtMs > 0n && { created_at: timeOf(createdAtMs) }),
    ...(actor !== "" && { actor }),
  };
}
