import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Static } from "typebox";
import type { NewCredential } from "../access/credentials.ts";
import { hasRole, type Principal, requireRole } from "../access/principal.ts";
import { nameOfRole, rolesNamed } from "../access/role-names.ts";
import type { TokenStorageScope } from "../access/storage-scopes.ts";
import { type Credential, isAccessKey, isTokenId } from "../access/stored-credential.ts";
import { RegistryError } from "../errors.ts";
import { requestContext } from "../http/request-audit.ts";
import { apiSchema, type StackwrightApiParts } from "./api-parts.ts";
import * as schemas from "./schemas.ts";
import { needsSiteAdmin, requestedScopes } from "./token-scopes.ts";

const TAG = "administration";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Access keys and tokens: of the caller's account, and of all accounts for operators. */
export function credentialRoutes(fastify: FastifyInstance, parts: StackwrightApiParts): void {
  const { registry, region, credentials, principalOf } = parts;
  const config = { role: "admin", limits: "projects" } as const;
  /** Answers with a secret are shown once and kept by no cache. */
  const made = (reply: FastifyReply): void => {
    reply.code(201).header("cache-control", "no-store");
  };

  fastify.get(
    "/credentials",
    {
      config,
      schema: apiSchema(TAG, "Access keys and tokens, without their secrets", {
        200: schemas.Credentials,
      }),
    },
    async (request) => {
      const known = await visible(principalOf(request));
      return { credentials: known.map((one) => ({ ...one, roles: one.roles.map(nameOfRole) })) };
    },
  );

  fastify.post<{ Body: schemas.NewCredentialBody }>(
    "/access-keys",
    {
      config,
      schema: apiSchema(
        TAG,
        "Make an access key; its secret is shown once",
        { 201: schemas.NewAccessKey },
        { body: schemas.NewCredentialBody },
      ),
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const key = await credentials.createKey(inputOf(principal, request.body));
      await note(request, principal, "access-key.create", key.accessKey);
      made(reply);
      return { access_key: key.accessKey, secret_key: key.secretKey };
    },
  );

  fastify.post<{ Body: schemas.NewTokenBody }>(
    "/tokens",
    {
      config,
      schema: apiSchema(
        TAG,
        "Make a token; it is shown once",
        { 201: schemas.NewToken },
        { body: schemas.NewTokenBody },
      ),
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { token, tokenId } = await credentials.createToken(inputOf(principal, request.body));
      await note(request, principal, "token.create", tokenId);
      made(reply);
      return { token, token_id: tokenId };
    },
  );

  fastify.post<{
    Params: Static<typeof schemas.ActorParams>;
    Body: Static<typeof schemas.RotationBody>;
  }>(
    "/access-keys/:actor/rotation",
    {
      config: { ...config, bodyOptional: true },
      schema: apiSchema(
        TAG,
        "Replace an access key; the old one stays valid for a day",
        { 201: schemas.NewAccessKey },
        { params: schemas.ActorParams, body: schemas.RotationBody },
      ),
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { actor } = request.params;
      const { overlap_hours: hours = 24 } = request.body;
      await ownCredential(principal, actor);
      const key = await credentials.rotateKey(actor, hours * HOUR_MS, makerOf(principal));
      await note(request, principal, "access-key.rotate", actor);
      made(reply);
      return { access_key: key.accessKey, secret_key: key.secretKey };
    },
  );

  fastify.delete<{ Params: Static<typeof schemas.ActorParams> }>(
    "/credentials/:actor",
    {
      config,
      schema: apiSchema(
        TAG,
        "Revoke an access key or a token",
        { 204: schemas.EMPTY_BODY },
        { params: schemas.ActorParams },
      ),
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { actor } = request.params;
      await ownCredential(principal, actor);
      await credentials.revoke(actor);
      await note(request, principal, "credential.revoke", actor);
      return reply.code(204).send();
    },
  );

  /** What a new credential is made from, as far as the caller may give what is in it. */
  function inputOf(
    principal: Principal,
    body: schemas.NewTokenBody,
  ): NewCredential & {
    readonly storageScopes: readonly TokenStorageScope[];
    readonly pool: string | undefined;
  } {
    const { account = principal.account, projects = [], description = "" } = body;
    const roles = rolesNamed(body.roles);
    const storageScopes = requestedScopes(account, roles, body.storage_scopes);
    const isOwn = account === principal.account && !needsSiteAdmin(roles, storageScopes);
    if (!hasRole(principal, "operator") && !isOwn) {
      throw new RegistryError("REGISTRY_FORBIDDEN", "only a site-admin gives this", {
        details: { needed: ["operator"] },
      });
    }
    const { projects: own } = principal;
    const isWithin = projects.length > 0 && projects.every((name) => own.includes(name));
    if (own.length > 0 && !(isWithin && storageScopes.length === 0)) {
      throw new RegistryError(
        "REGISTRY_FORBIDDEN",
        `${principal.actor} is limited to the projects ${own.join(", ")}, and so is what it makes: it needs projects of these, and no storage_scopes`,
      );
    }
    const days = body.expires_in_days;
    const nowMs = registry.parts.clock.wallMs();
    const expireTimeMs = days === undefined ? undefined : nowMs + days * DAY_MS;
    const { pool } = body;
    return {
      account,
      roles,
      projects,
      description,
      expireTimeMs,
      storageScopes,
      pool,
      ...makerOf(principal),
    };
  }

  /** The credentials that a caller may see: those of its account, and of its projects where it is limited to some. */
  async function visible(principal: Principal): Promise<readonly Credential[]> {
    const known = await credentials.list(
      hasRole(principal, "operator") ? undefined : principal.account,
    );
    const { projects: own } = principal;
    if (own.length === 0) return known;
    return known.filter(
      ({ projects }) => projects.length > 0 && projects.every((name) => own.includes(name)),
    );
  }

  /** Throws `REGISTRY_NOT_FOUND` for credentials that the caller may not see, as for those that do not exist. */
  async function ownCredential(principal: Principal, actor: string): Promise<Credential> {
    const found = (await visible(principal)).find((known) => known.actor === actor);
    if (found === undefined) throw new RegistryError("REGISTRY_NOT_FOUND");
    // The caller of a rotation gets the new secret, and with it the rights of the key.
    if (found.roles.includes("operator")) requireRole(principal, "operator");
    return found;
  }

  async function note(
    request: FastifyRequest,
    principal: Principal,
    action: string,
    target: string,
  ): Promise<void> {
    const scope = { account: principal.account, region };
    const facts = { action, target, outcome: "done" };
    await registry.note(scope, requestContext(request, principal), facts);
  }
}

/**
 * What a user makes ends with the user, and with the token that it was made with: a stolen one gives no longer access than itself. With an
 * access key, with which nothing could end, a user makes none. A credential that stands for itself makes others that do.
 */
function makerOf({ user, credential, actor }: Principal): Pick<NewCredential, "user" | "parent"> {
  if (user === undefined) return {};
  const parent = isTokenId(credential) ? credential : undefined;
  if (parent !== undefined) return { user, parent };
  if (credential === undefined || !isAccessKey(credential)) return { user };
  throw new RegistryError(
    "REGISTRY_FORBIDDEN",
    `the access key ${credential} of ${actor} makes no other credential; use a token or the console`,
  );
}
