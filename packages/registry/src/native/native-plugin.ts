import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Credential, CredentialStore, NewCredential } from "../access/credentials.ts";
import { hasRole, isRole, type Principal, ROLES, requireRole } from "../access/principal.ts";
import { invalidField, RegistryError } from "../errors.ts";
import { clientSignal } from "../http/client-signal.ts";
import {
  NATIVE_FAILURES,
  type NativeFaceOptions,
  nativeFace,
  readSmallBody,
} from "../http/native-face.ts";
import { requestContext } from "../http/request-audit.ts";
import { describeRoute } from "../http/route-description.ts";
import { parseBody } from "../rfs/strict-json.ts";

/** Options of {@link nativePlugin}. */
export interface NativeOptions extends NativeFaceOptions {
  readonly credentials: CredentialStore;
}

interface VersionParams {
  name: string;
  version: string;
}

const DAY = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;
const DAY_MS = 86_400_000;

/**
 * What the RFS API has no place for: where a provider is used, how its functions are, keys and tokens,
 * the audit trail. To be registered under a prefix, such as `/api/v1/registry`.
 */
export async function nativePlugin(
  fastify: FastifyInstance,
  options: NativeOptions,
): Promise<void> {
  const { registry, credentials, region } = options;
  const { scheduler } = registry.parts;
  const recognise = nativeFace(fastify, options);
  const scopeOf = ({ account }: Principal) => ({ account, region });
  const route = (tag: string, summary: string, more: object = {}) => ({
    schema: describeRoute({
      tags: [tag],
      summary,
      response: { 200: Type.Object({}), ...NATIVE_FAILURES },
      ...more,
    }),
  });

  fastify.get<{ Params: { name: string }; Querystring: { user?: string } }>(
    "/private-providers/:name/uses",
    route("private providers", "Where a provider is used", {
      querystring: Type.Object({
        user: Type.Optional(Type.String({ description: "only what this one uses" })),
      }),
    }),
    async (request) => {
      const principal = await recognise(request, await readSmallBody(request));
      requireRole(principal, "reader");
      const { name } = request.params;
      const { providerId } = await registry.showProvider(scopeOf(principal), { name });
      const uses = await registry.listUses(scopeOf(principal), providerId);
      const { user } = request.query;
      return { uses: uses.filter((use) => user === undefined || use.user === user) };
    },
  );

  fastify.put<{ Params: VersionParams }>(
    "/private-providers/:name/versions/:version/uses",
    route("private providers", "Note that somebody uses a version; harmless when repeated", {
      body: Type.Object({
        user: Type.String({ minLength: 1, maxLength: 512 }),
        provider_id: Type.Optional(Type.String()),
      }),
    }),
    async (request, reply) => {
      const raw = await readSmallBody(request);
      const principal = await recognise(request, raw);
      requireRole(principal, "reader");
      const { user, provider_id: providerId, ...rest } = parseBody(raw);
      refuseUnknown(Object.keys(rest), ["user", "provider_id"]);
      if (typeof user !== "string") throw invalidField("user", "missing", "user is a text");
      if (providerId !== undefined && typeof providerId !== "string") {
        throw invalidField("provider_id", "wrong-type", "provider_id is a text");
      }
      const options = { signal: clientSignal(reply) };
      await registry.recordUse(
        scopeOf(principal),
        { ...request.params, providerId },
        user,
        options,
      );
      return reply.code(204).send();
    },
  );

  fastify.delete<{ Params: VersionParams; Querystring: { user?: string } }>(
    "/private-providers/:name/versions/:version/uses",
    route("private providers", "Forget that somebody uses a version; harmless when repeated", {
      querystring: Type.Object({ user: Type.String({ minLength: 1, maxLength: 512 }) }),
    }),
    async (request, reply) => {
      const principal = await recognise(request, await readSmallBody(request));
      requireRole(principal, "reader");
      const { user } = request.query;
      if (typeof user !== "string") throw invalidField("user", "missing", "user is a text");
      const { name, version } = request.params;
      const options = { signal: clientSignal(reply) };
      const { providerId } = await registry.showProvider(scopeOf(principal), { name }, options);
      await registry.releaseUse(scopeOf(principal), { providerId, version, user }, options);
      return reply.code(204).send();
    },
  );

  fastify.get<{ Params: VersionParams }>(
    "/private-providers/:name/versions/:version/health",
    route("private providers", "What the last check of a function found"),
    async (request) => {
      const principal = await recognise(request, await readSmallBody(request));
      requireRole(principal, "reader");
      const health = await registry.showHealth(scopeOf(principal), request.params);
      return { health: health ?? null };
    },
  );

  fastify.post<{ Params: VersionParams }>(
    "/private-providers/:name/versions/:version/checks",
    route("private providers", "Check a function now"),
    async (request, reply) => {
      const principal = await recognise(request, await readSmallBody(request));
      requireRole(principal, "publisher");
      const options = { signal: clientSignal(reply) };
      return { health: await registry.checkHealth(scopeOf(principal), request.params, options) };
    },
  );

  fastify.get<{ Querystring: { day?: string; account?: string } }>(
    "/audit",
    route("administration", "The audit trail of a day", {
      querystring: Type.Object({
        day: Type.Optional(Type.String({ description: "YYYY-MM-DD, UTC; today by default" })),
      }),
    }),
    async (request) => {
      const principal = await recognise(request, await readSmallBody(request));
      requireRole(principal, "admin");
      const { day = new Date(scheduler.wallMs()).toISOString().slice(0, 10) } = request.query;
      if (!DAY.test(day)) throw invalidField("day", "pattern", "day is YYYY-MM-DD");
      return { entries: await registry.auditDay(scopeOf(principal), day) };
    },
  );

  fastify.get(
    "/credentials",
    route("administration", "Access keys and tokens, without their secrets"),
    async (request) => {
      const principal = await recognise(request, await readSmallBody(request));
      requireRole(principal, "admin");
      const all = hasRole(principal, "operator") ? undefined : principal.account;
      return { credentials: await credentials.list(all) };
    },
  );

  const NewCredentialBody = Type.Object({
    roles: Type.Array(Type.Union(ROLES.map((role) => Type.Literal(role)))),
    account: Type.Optional(Type.String({ description: "another account; operators only" })),
    projects: Type.Optional(Type.Array(Type.String())),
    description: Type.Optional(Type.String({ maxLength: 256 })),
    expires_in_days: Type.Optional(Type.Number({ minimum: 0 })),
  });

  fastify.post(
    "/access-keys",
    route("administration", "Make an access key; its secret is shown once", {
      body: NewCredentialBody,
    }),
    async (request, reply) => {
      const { principal, input } = await credentialRequest(request);
      const made = await credentials.createKey(input);
      await note(request, principal, "access-key.create", made.accessKey);
      reply.code(201).header("cache-control", "no-store");
      return { access_key: made.accessKey, secret_key: made.secretKey };
    },
  );

  fastify.post(
    "/tokens",
    route("administration", "Make a token; it is shown once", { body: NewCredentialBody }),
    async (request, reply) => {
      const { principal, input } = await credentialRequest(request);
      const made = await credentials.createToken(input);
      await note(request, principal, "token.create", made.tokenId);
      reply.code(201).header("cache-control", "no-store");
      return { token: made.token, token_id: made.tokenId };
    },
  );

  fastify.post<{ Params: { actor: string } }>(
    "/access-keys/:actor/rotation",
    route("administration", "Replace an access key; the old one stays valid for a day", {
      body: Type.Object({ overlap_hours: Type.Optional(Type.Number({ minimum: 0 })) }),
    }),
    async (request, reply) => {
      const raw = await readSmallBody(request);
      const principal = await recognise(request, raw);
      const { overlap_hours: hours = 24, ...rest } = raw.byteLength === 0 ? {} : parseBody(raw);
      refuseUnknown(Object.keys(rest), ["overlap_hours"]);
      if (typeof hours !== "number" || !(hours >= 0 && hours <= 24 * 90)) {
        throw invalidField("overlap_hours", "out-of-range", "overlap_hours is up to 90 days");
      }
      const { actor } = request.params;
      await ownCredential(principal, actor);
      const made = await credentials.rotateKey(actor, hours * 3_600_000);
      await note(request, principal, "access-key.rotate", actor);
      reply.code(201).header("cache-control", "no-store");
      return { access_key: made.accessKey, secret_key: made.secretKey };
    },
  );

  fastify.delete<{ Params: { actor: string } }>(
    "/credentials/:actor",
    route("administration", "Revoke an access key or a token"),
    async (request, reply) => {
      const principal = await recognise(request, await readSmallBody(request));
      const { actor } = request.params;
      await ownCredential(principal, actor);
      await credentials.revoke(actor);
      await note(request, principal, "credential.revoke", actor);
      return reply.code(204).send();
    },
  );

  /** Somebody's wish for a credential, as far as they may give what is in it. */
  async function credentialRequest(
    request: FastifyRequest,
  ): Promise<{ principal: Principal; input: NewCredential }> {
    const raw = await readSmallBody(request);
    const principal = await recognise(request, raw);
    requireRole(principal, "admin");
    const body = parseBody(raw);
    const known = Object.keys(NewCredentialBody.properties);
    refuseUnknown(
      Object.keys(body).filter((name) => !known.includes(name)),
      known,
    );
    const { roles, account = principal.account, projects = [], description = "" } = body;
    const days = body["expires_in_days"];
    if (!(isTexts(roles) && roles.length > 0 && roles.every(isRole))) {
      throw invalidField("roles", "not-listed", `roles are some of ${ROLES.join(", ")}`);
    }
    if (typeof account !== "string" || typeof description !== "string" || !isTexts(projects)) {
      throw invalidField("account", "wrong-type", "account and description are texts");
    }
    if (days !== undefined && !(typeof days === "number" && days > 0)) {
      throw invalidField("expires_in_days", "out-of-range", "expires_in_days is positive");
    }
    const operator = hasRole(principal, "operator");
    const beyond = roles.some((role) => role === "operator" || role === "worker");
    if (!operator && (account !== principal.account || beyond)) {
      throw new RegistryError("REGISTRY_FORBIDDEN", "only operators give this", {
        details: { needed: ["operator"] },
      });
    }
    const expireTimeMs = days === undefined ? undefined : scheduler.wallMs() + days * DAY_MS;
    return {
      principal,
      input: { account, roles, projects, description: description.slice(0, 256), expireTimeMs },
    };
  }

  /** Throws `REGISTRY_NOT_FOUND` for credentials of other accounts, as for those that do not exist. */
  async function ownCredential(principal: Principal, actor: string): Promise<Credential> {
    requireRole(principal, "admin");
    const all = hasRole(principal, "operator") ? undefined : principal.account;
    const found = (await credentials.list(all)).find((known) => known.actor === actor);
    if (found === undefined) throw new RegistryError("REGISTRY_NOT_FOUND");
    // Whoever rotates a key gets its secret, and with it what it may do.
    if (found.roles.some((role) => role === "operator" || role === "worker")) {
      requireRole(principal, "operator");
    }
    return found;
  }

  async function note(
    request: FastifyRequest,
    principal: Principal,
    action: string,
    target: string,
  ): Promise<void> {
    const facts = { action, target, outcome: "done" };
    await registry.note(scopeOf(principal), requestContext(request, principal), facts);
  }
}

/** Refuses what a request does not take, and says what it takes. */
function refuseUnknown([first]: readonly string[], known: readonly string[]): void {
  if (first === undefined) return;
  const name = first.slice(0, 64);
  throw invalidField(
    name,
    "unknown",
    `"${name}" is not a parameter of this request; its parameters are ${known.join(", ")}`,
  );
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= 100 && value.every((x) => typeof x === "string");
}
