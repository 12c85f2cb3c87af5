import { isIP } from "node:net";
import type { Clock } from "@stackwright/base/clock";
import { KeyedRateLimiter, type RateLimit, TokenBucket } from "@stackwright/base/limiter";
import {
  type CredentialStore,
  isRegistryError,
  MAX_OF_OWNER,
  type Principal,
} from "@stackwright/registry";
import { plainPolicy } from "@stackwright/tfe";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { AccessDirectory } from "../access/access-directory.ts";
import { COMMAND_TOKEN_MS } from "../access/command-token.ts";
import { isUserRole, USER_ROLES } from "../access/effective-rights.ts";
import type { LoginSessions } from "../access/login-sessions.ts";
import { type AuditTrail, auditCaller } from "../access/registry-audit.ts";
import { readBytes } from "../api/read-body.ts";
import { SERVER_ERRORS, ServerError } from "../domain/server-error.ts";
import type { TransactionParts } from "../queue/transaction.ts";
import { addressGroup } from "../sign-in/address-group.ts";
import { sessionSecretOf } from "../sign-in/cookies.ts";
import { isOfOwnPage } from "../sign-in/own-page.ts";
import { readUserCode, shownUserCode } from "./device-codes.ts";
import { DEVICE_LOGIN_MS, DeviceLogins, deviceLoginTarget, POLL_MS } from "./device-logins.ts";
import {
  codePage,
  consentPage,
  DEVICE_PAGE,
  messagePage,
  type PageSession,
  signInPage,
} from "./device-pages.ts";

/** The name that commands ask by: they are public clients. */
export const DEVICE_CLIENT = "stackwright";
const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const BODY_BYTES = 4 * 1024;
const HOST = /^[\w.-]{1,64}$/;

interface DevicePluginOptions extends TransactionParts {
  readonly clock: Clock;
  readonly sessions: LoginSessions;
  readonly access: AccessDirectory;
  readonly audit: AuditTrail;
  readonly credentials: CredentialStore;
  /** The identity providers of the sign-in, with the accounts of their users. */
  readonly providers: readonly { readonly name: string; readonly account: string }[];
  /** The address of the server as browsers see it. */
  readonly origin: () => string;
  readonly codeKey: () => Promise<Uint8Array>;
}

/** Requests of one remote address, and codes that are tried by one user and from one address. */
const LIMITS = Object.freeze({
  ask: { perSecond: 0.1, burst: 20 },
  poll: { perSecond: 5, burst: 100 },
  page: { perSecond: 2, burst: 60 },
  // Each login tries its code twice. The store has up to 1,000 codes of 9 million million.
  triesOfUser: { perSecond: 0.1, burst: 20 },
  triesOfAddress: { perSecond: 0.5, burst: 60 },
} satisfies Record<string, RateLimit>);

/** Entries of the audit trail about commands that ask. */
const NOTED: RateLimit = Object.freeze({ perSecond: 1, burst: 60 });

/** One answer to codes that never were, are over, or were answered. */
const NO_CODE =
  "This code is not valid, or no longer. Check what the command shows, and type it again.";

/** A browser with its session. */
interface Signed extends PageSession {
  readonly principal: Principal;
  readonly secret: string;
}

/**
 * Logins of commands on machines without a browser, as RFC 8628 has them: `/code` and `/token` for the command, pages for the user. No
 * address has a code in it, and none leads to the page with one filled in: a code that was sent to a user has to be typed.
 */
export async function devicePlugin(
  fastify: FastifyInstance,
  options: DevicePluginOptions,
): Promise<void> {
  const { sessions, access, audit, clock, credentials, origin } = options;
  const logins = new DeviceLogins(options);
  const limiterOf = (limit: RateLimit): KeyedRateLimiter =>
    new KeyedRateLimiter(limit, () => clock.monotonicMs());
  const pages = limiterOf(LIMITS.page);
  const triesOfUser = limiterOf(LIMITS.triesOfUser);
  const triesOfAddress = limiterOf(LIMITS.triesOfAddress);
  const noted = new TokenBucket(NOTED, clock.monotonicMs());
  const accounts = [...new Set(options.providers.map(({ account }) => account))];

  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  fastify.addHook("onRoute", (route) => {
    route.schema = { ...route.schema, hide: true };
  });
  // Forms of the pages name their origin with this policy alone; no address has a secret in it.
  fastify.addHook("onRequest", async (_request, reply) => {
    reply.headers({ "cache-control": "no-store", "referrer-policy": "same-origin" });
  });
  fastify.setErrorHandler(async (error, request, reply) => {
    const { httpStatus: status = 500 } =
      error instanceof ServerError ? SERVER_ERRORS[error.code] : SERVER_ERRORS.internal;
    if (status >= 500) request.log.error({ err: error }, "a login of another machine failed");
    return refuse(reply, status, status >= 500 ? "server_error" : "invalid_request");
  });
  const tooMany = (reply: FastifyReply, waitMs: number): FastifyReply =>
    reply.header("retry-after", String(Math.ceil(waitMs / 1_000)));
  const limit = (rate: RateLimit) => {
    const limiter = limiterOf(rate);
    return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const waitMs = limiter.take(addressGroup(request.ip));
      if (waitMs > 0) await refuse(tooMany(reply, waitMs), 429, "slow_down");
    };
  };

  fastify.post("/code", { onRequest: limit(LIMITS.ask) }, async (request, reply) => {
    const form = formOf(await readBytes(request, BODY_BYTES));
    if (form.get("client_id") !== DEVICE_CLIENT) return refuse(reply, 400, "invalid_client");
    const role = form.get("scope") ?? "admin";
    if (!isUserRole(role)) return refuse(reply, 400, "invalid_scope");
    const named = form.get("host") ?? "";
    const host = HOST.test(named) ? named : "";
    // A proxy passes on what its client writes: the page shows an address as one that was seen.
    const remoteAddress = isIP(request.ip) === 0 ? "unknown" : request.ip;
    const asker = { host, remoteAddress, role };
    const asked = await logins.ask(asker);
    if (asked.kind !== "asked") {
      const status = asked.kind === "many" ? 503 : 429;
      const code = asked.kind === "many" ? "temporarily_unavailable" : "slow_down";
      return refuse(tooMany(reply, DEVICE_LOGIN_MS / 10), status, code);
    }
    // Whose login it will be is not known. Anyone may ask: what is noted is bounded, apart from the bound of refusals.
    if (noted.take(clock.monotonicMs())) {
      const facts = {
        action: "AskForDeviceLogin",
        target: deviceLoginTarget(asker),
        outcome: "done",
      };
      for (const account of accounts) {
        await audit.note(request, { account, actor: "", roles: [], projects: [] }, facts);
      }
    }
    return {
      device_code: asked.deviceCode,
      user_code: shownUserCode(asked.userCode),
      verification_uri: `${origin()}${DEVICE_PAGE}`,
      expires_in: DEVICE_LOGIN_MS / 1_000,
      interval: POLL_MS / 1_000,
    };
  });

  fastify.post("/token", { onRequest: limit(LIMITS.poll) }, async (request, reply) => {
    const form = formOf(await readBytes(request, BODY_BYTES));
    if (form.get("client_id") !== DEVICE_CLIENT) return refuse(reply, 400, "invalid_client");
    if (form.get("grant_type") !== GRANT) return refuse(reply, 400, "unsupported_grant_type");
    const found = await logins.poll(form.get("device_code") ?? "");
    if (found.kind !== "agreed") return refuse(reply, 400, POLL_ERRORS[found.kind]);
    const { account, user, role, host } = found.login;
    const principal = await access.principalOf(account, user, "");
    if (principal === undefined || !isUserRole(role)) return refuse(reply, 400, "access_denied");
    const made = await credentials
      .createToken({
        account,
        user,
        roles: [USER_ROLES[role]],
        description: `login on ${host || "another machine"}`,
        expireTimeMs: Math.floor(clock.wallMs()) + COMMAND_TOKEN_MS,
      })
      .catch((error: unknown) => {
        // The user heard of it before agreeing; others may have been made since.
        if (isRegistryError(error) && error.code === "REGISTRY_QUOTA_EXCEEDED") return undefined;
        throw error;
      });
    if (made === undefined) return refuse(reply, 400, "access_denied");
    const { token, tokenId } = made;
    await audit.note(
      request,
      { ...principal, credential: tokenId },
      {
        action: "GiveDeviceToken",
        target: deviceLoginTarget(found.login),
        outcome: "done",
      },
    );
    return { access_token: token, token_type: "bearer", expires_in: COMMAND_TOKEN_MS / 1_000 };
  });

  const show = (reply: FastifyReply, status: number, page: string): FastifyReply =>
    reply
      .code(status)
      .headers({ "content-security-policy": plainPolicy("'self'") })
      .type("text/html; charset=utf-8")
      .send(page);

  const signedIn = async ({ headers }: FastifyRequest): Promise<Signed | undefined> => {
    const secret = sessionSecretOf(headers, origin());
    const principal = secret === undefined ? undefined : await sessions.principalOf(secret);
    if (secret === undefined || principal?.user === undefined) return undefined;
    const { user } = principal;
    return { user, principal, secret, pageToken: await sessions.pageToken(secret) };
  };
  const signInFirst = (reply: FastifyReply, status: number): FastifyReply =>
    show(reply, status, signInPage(options.providers.map(({ name }) => name)));

  /** The form of a page of this server, in the browser of a user. The session is checked before the form is read. */
  const submitted = async (
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<{ readonly by: Signed; readonly form: URLSearchParams } | undefined> => {
    const by = await signedIn(request);
    if (by === undefined) {
      signInFirst(reply, 401);
      return undefined;
    }
    const header = (name: string): string | undefined => {
      const value = request.headers[name];
      return typeof value === "string" ? value : undefined;
    };
    const isOwn = isOfOwnPage(header, origin());
    const form = isOwn ? formOf(await readBytes(request, BODY_BYTES)) : undefined;
    const proof = form?.get("page_token") ?? undefined;
    if (form === undefined || !(await sessions.isPageToken(by.secret, proof))) {
      const text = `The form does not come from a page of this server. Open ${origin()}${DEVICE_PAGE}`;
      show(reply, 403, messagePage("Refused", text));
      return undefined;
    }
    const { account, user } = by.principal;
    const waitMs = Math.max(
      triesOfUser.take(`${account}/${user}`),
      triesOfAddress.take(addressGroup(request.ip)),
    );
    if (waitMs === 0) return { by, form };
    const seconds = Math.ceil(waitMs / 1_000);
    show(tooMany(reply, waitMs), 429, codePage(by, `Too many codes. Wait ${seconds} s.`));
    return undefined;
  };
  const noCode = async (
    request: FastifyRequest,
    reply: FastifyReply,
    by: Signed,
  ): Promise<FastifyReply> => {
    const facts = { action: "AgreeToDeviceLogin", target: "", outcome: "HTTP_400" };
    await audit.note(request, by.principal, facts);
    return show(reply, 400, codePage(by, NO_CODE));
  };
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const waitMs = pages.take(addressGroup(request.ip));
    const text = `Wait ${Math.ceil(waitMs / 1_000)} s.`;
    if (waitMs > 0) await show(tooMany(reply, waitMs), 429, messagePage("Too many requests", text));
  };

  fastify.get("/", { onRequest }, async (request, reply) => {
    const by = await signedIn(request);
    return by === undefined ? signInFirst(reply, 200) : show(reply, 200, codePage(by));
  });

  fastify.post("/", { onRequest }, async (request, reply) => {
    const sent = await submitted(request, reply);
    if (sent === undefined) return reply;
    const { by, form } = sent;
    const typed = form.get("user_code") ?? "";
    const login = await logins.waiting(typed);
    const code = readUserCode(typed);
    if (login === undefined || code === undefined) return noCode(request, reply, by);
    return show(reply, 200, consentPage(by, code, login));
  });

  fastify.post("/decision", { onRequest }, async (request, reply) => {
    const sent = await submitted(request, reply);
    if (sent === undefined) return reply;
    const { by, form } = sent;
    // Whatever is not consent refuses.
    const decision = form.get("decision") === "agreed" ? "agreed" : "refused";
    const { account } = by.principal;
    if (decision === "agreed" && !(await credentials.hasRoom({ account, user: by.user }))) {
      const text = `You have ${MAX_OF_OWNER} tokens and access keys, which is the most. Revoke some, and agree again.`;
      return show(reply, 409, messagePage("Too many tokens", text));
    }
    const decided = await logins.decide(form.get("user_code") ?? "", decision, {
      user: by.user,
      caller: auditCaller(request, by.principal),
    });
    if (decided === undefined) return noCode(request, reply, by);
    const page =
      decision === "agreed"
        ? messagePage("Signed in", "The command gets its token. Close this page.")
        : messagePage("Refused", "The command gets no token. Close this page.");
    return show(reply, 200, page);
  });
}

/** What RFC 8628 calls the answers. */
const POLL_ERRORS = Object.freeze({
  pending: "authorization_pending",
  slow_down: "slow_down",
  refused: "access_denied",
  expired: "expired_token",
  unknown: "invalid_grant",
});

function refuse(reply: FastifyReply, status: number, error: string): FastifyReply {
  return reply.code(status).send({ error });
}

function formOf(body: Uint8Array): URLSearchParams {
  return new URLSearchParams(Buffer.from(body).toString("utf8"));
}
