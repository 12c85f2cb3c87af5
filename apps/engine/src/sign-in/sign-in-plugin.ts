import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import { KeyedRateLimiter } from "@stackwright/base/limiter";
import {
  type Authenticator,
  type CredentialStore,
  isRegistryError,
  isTokenId,
  MAX_OF_OWNER,
} from "@stackwright/registry";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { AccessDirectory } from "../access/access-directory.ts";
import type { LoginSessions } from "../access/login-sessions.ts";
import type { AuditTrail } from "../access/registry-audit.ts";
import { unlessFull } from "../access/unless-full.ts";
import { answerProblem } from "../api/problem.ts";
import { ServerError } from "../domain/server-error.ts";
import type { TransactionParts } from "../queue/transaction.ts";
import { addressGroup } from "./address-group.ts";
import { ConsoleCodes } from "./console-codes.ts";
import { cookieNames, cookieOf, sessionSecretOf, setCookie } from "./cookies.ts";
import { IdentityProvider, type PendingChecks } from "./identity-provider.ts";
import { isOfOwnPage } from "./own-page.ts";
import { PAGE_TOKEN } from "./session-authenticator.ts";
import type { SignInProvider } from "./sign-in-file.ts";
import { signedInUser } from "./signed-in-user.ts";

interface SignInOptions extends TransactionParts {
  readonly clock: Clock;
  readonly providers: readonly SignInProvider[];
  readonly sessions: LoginSessions;
  readonly access: AccessDirectory;
  readonly audit: AuditTrail;
  /** The address of the server as browsers see it. */
  readonly origin: () => string;
  readonly credentials: CredentialStore;
  /** Recognises the tokens of those who ask for a code. */
  readonly authenticator: Authenticator;
  /** Encrypts what a browser keeps between leaving for an identity provider and coming back. */
  readonly flowKey: () => Promise<Uint8Array>;
}

/** What the cookie of a begun sign-in holds. */
interface Flow extends PendingChecks {
  readonly provider: string;
  readonly to: string;
  readonly untilMs: number;
}

const FLOW_MS = 10 * 60_000;
const SESSION_SECONDS = 7 * 24 * 3_600;
const HOME = "/console/";
const PAGE =
  /^(?:\/console\/[A-Za-z0-9/._~?=&%-]*|\/oauth\/authorize\?[A-Za-z0-9._~=&%+-]*|\/oauth\/device)$/;
/** How long a browser may use the token that it got for a code. */
const CODE_TOKEN_MS = 12 * 3_600_000;
/** What a page sends the code in: no header of a proxy's log. */
const CODE_HEADER = "x-stackwright-code";
/** Sign-ins of one address. */
const LIMIT = Object.freeze({ perSecond: 0.5, burst: 30 });

type OfProvider = { Params: { provider: string }; Querystring: { to?: string } };

/** `/auth`: sign-in of browsers with identity providers, and the session that comes of it. */
export async function signInPlugin(
  fastify: FastifyInstance,
  options: SignInOptions,
): Promise<void> {
  const { sessions, access, audit, clock, origin } = options;
  const providers = new Map(
    options.providers.map((one) => [
      one.name,
      new IdentityProvider(one, () => clock.monotonicMs()),
    ]),
  );
  const limiter = new KeyedRateLimiter(LIMIT, () => clock.monotonicMs());
  const hidden = { schema: { hide: true } } as const;
  fastify.setErrorHandler(async (error, request, reply) => answerProblem(request, reply, error));
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, _payload, done) => done(null));
  fastify.addHook("onRequest", async (_request, reply) => {
    reply.headers({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
  });

  const secretOf = ({ headers }: FastifyRequest): string | undefined =>
    sessionSecretOf(headers, origin());
  const providerOf = (name: string): IdentityProvider => {
    const found = providers.get(name);
    if (found === undefined) throw new ServerError("not_found", "there is no such provider");
    return found;
  };
  const limit = (request: FastifyRequest): void => {
    const retryAfterMs = limiter.take(addressGroup(request.ip));
    if (retryAfterMs > 0) {
      throw new ServerError("rate_limited", "too many sign-ins from this address", {
        retryAfterMs,
      });
    }
  };

  fastify.get("/providers", hidden, async () => ({
    providers: [...providers.keys()],
    // Those that recognise who was invited by an address of mail.
    by_email: options.providers
      .filter(({ linksVerifiedEmail }) => linksVerifiedEmail)
      .map(({ name }) => name),
  }));

  fastify.get<OfProvider>("/login/:provider", hidden, async (request, reply) => {
    limit(request);
    const provider = providerOf(request.params.provider);
    const names = cookieNames(origin());
    let begun: Awaited<ReturnType<IdentityProvider["begin"]>>;
    try {
      begun = await provider.begin(callbackOf(origin(), provider));
    } catch (error) {
      request.log.error({ err: error, provider: provider.name }, "an identity provider fails");
      throw new ServerError("store_unavailable", "the identity provider does not answer");
    }
    const untilMs = clock.wallMs() + FLOW_MS;
    const flow: Flow = {
      ...begun.checks,
      provider: provider.name,
      to: pageOf(request.query.to),
      untilMs,
    };
    const sealed = seal(await options.flowKey(), flow);
    reply.header("set-cookie", setCookie(names, names.flow, sealed, FLOW_MS / 1_000));
    return reply.redirect(begun.url.href, 302);
  });

  fastify.get<OfProvider>("/callback/:provider", hidden, async (request, reply) => {
    limit(request);
    const provider = providerOf(request.params.provider);
    const names = cookieNames(origin());
    const cookie = cookieOf(request.headers.cookie, names.flow);
    const flow = cookie === undefined ? undefined : open(await options.flowKey(), cookie);
    // It is good for one return, whether that succeeds or not.
    const gone = setCookie(names, names.flow, "", 0);
    const refuse = async (reason: unknown): Promise<FastifyReply> => {
      request.log.warn({ provider: provider.name, reason: reasonOf(reason) }, "a sign-in failed");
      await audit.note(request, undefined, {
        action: "SignIn",
        target: provider.name,
        outcome: "HTTP_401",
      });
      return reply
        .code(401)
        .header("set-cookie", gone)
        .type("text/plain; charset=utf-8")
        .send(`The sign-in failed. Begin again at ${origin()}${HOME}\n`);
    };
    if (flow === undefined) return refuse("this browser began no sign-in");
    if (flow.provider !== provider.name) return refuse("it was begun with another provider");
    if (flow.untilMs <= clock.wallMs()) return refuse("it was begun too long ago");
    let user: Awaited<ReturnType<typeof signedInUser>>;
    try {
      const { search } = new URL(request.raw.url ?? "", origin());
      const returned = new URL(callbackOf(origin(), provider) + search);
      const identity = await provider.finish(returned, flow);
      user = await signedInUser(options, provider.account, identity);
    } catch (error) {
      return refuse(error);
    }
    if (user.disabled) return refuse("the user is disabled");
    access.forget(provider.account);
    // Never a secret that the browser had before: that could be of another person.
    const former = secretOf(request);
    if (former !== undefined) await sessions.endSecret(former);
    const secret = await sessions.begin(provider.account, user.name, {
      remoteAddress: request.ip,
      browser: request.headers["user-agent"] ?? "",
    });
    await audit.note(request, await sessions.principalOf(secret), {
      action: user.isNew ? "SignInFirst" : "SignIn",
      target: provider.name,
      outcome: "done",
    });
    const set = setCookie(names, names.session, secret, SESSION_SECONDS);
    return reply.header("set-cookie", [gone, set]).redirect(flow.to, 302);
  });

  const codes = new ConsoleCodes(options);
  /** A code that a page of this server sends: another site could have it from whoever wants a browser signed in with it. */
  const codeOf = (request: FastifyRequest): string => {
    limit(request);
    const header = (name: string): string | undefined => textOf(request.headers[name]);
    if (!isOfOwnPage(header, origin())) throw notOfOwnPage();
    return header(CODE_HEADER) ?? "";
  };
  const withoutOwner = (): ServerError =>
    new ServerError("unauthenticated", "the code was used, is too old, or never was one");

  // A program that has a token opens the console with it, and neither the token nor the address is of use a second time.
  fastify.post("/codes", hidden, async (request, reply) => {
    limit(request);
    const principal = await options.authenticator.authenticate(signedOf(request));
    const { account, user, credential, actor } = principal;
    const parent = credential ?? actor;
    if (!isTokenId(parent)) throw new ServerError("forbidden", "a code is made with a token");
    if (!(await options.credentials.hasRoom({ account, user, parent }))) {
      const detail = `there are ${MAX_OF_OWNER} tokens and access keys, which is the most: revoke some`;
      throw new ServerError("unprocessable", detail);
    }
    const code = await codes.make({ account, user, parent });
    const facts = { action: "AskForConsoleCode", target: parent, outcome: "done" };
    await audit.note(request, principal, facts);
    return reply.code(201).send({ url: `${origin()}${HOME}#code=${code}` });
  });

  // Whose it is, for the question that a page asks before it uses the code. What proves that it asked is in the answer.
  fastify.post("/code/owner", hidden, async (request) => {
    const code = codeOf(request);
    const owner = await codes.ownerOf(code);
    if (owner === undefined) throw withoutOwner();
    const { account, user, parent } = owner;
    const known = (await options.credentials.list(account)).find(({ actor }) => actor === parent);
    if (known === undefined) throw withoutOwner();
    const csrf = await sessions.pageToken(proofOf(code));
    const { description } = known;
    return { account, ...(user !== undefined && { user }), token: parent, description, csrf };
  });

  fastify.post("/code", hidden, async (request) => {
    const code = codeOf(request);
    if (!(await sessions.isPageToken(proofOf(code), textOf(request.headers[PAGE_TOKEN])))) {
      throw notOfOwnPage();
    }
    const owner = await codes.take(code);
    if (owner === undefined) throw withoutOwner();
    const { account, user, parent } = owner;
    const expireTimeMs = Math.floor(clock.wallMs()) + CODE_TOKEN_MS;
    const description = "a browser that was opened with a code";
    const making = options.credentials.createTokenOf(parent, { description, expireTimeMs });
    const { token, tokenId } = await unlessFull(making).catch((error: unknown) => {
      // The token that asked for the code was revoked, or has expired.
      if (isRegistryError(error) && error.code === "REGISTRY_NOT_FOUND") throw withoutOwner();
      throw error;
    });
    const actor = user === undefined ? parent : `user-${user}`;
    const principal = { account, actor, credential: tokenId, roles: [], projects: [] };
    const facts = { action: "GiveConsoleToken", target: tokenId, outcome: "done" };
    await audit.note(request, principal, facts);
    return { token };
  });

  fastify.get("/session", hidden, async (request, reply) => {
    const secret = secretOf(request);
    const principal = secret === undefined ? undefined : await sessions.principalOf(secret);
    // A page asks whether there is one: that there is none is no failure.
    if (secret === undefined || principal === undefined) return reply.code(204).send();
    return {
      user: principal.user,
      account: principal.account,
      csrf: await sessions.pageToken(secret),
    };
  });

  fastify.post("/logout", hidden, async (request, reply) => {
    const names = cookieNames(origin());
    const secret = secretOf(request);
    if (secret !== undefined) {
      if (!(await sessions.isPageToken(secret, textOf(request.headers[PAGE_TOKEN])))) {
        throw notOfOwnPage();
      }
      const principal = await sessions.principalOf(secret);
      await sessions.endSecret(secret);
      const facts = { action: "SignOut", target: principal?.credential ?? "", outcome: "done" };
      if (principal !== undefined) await audit.note(request, principal, facts);
    }
    return reply
      .header("set-cookie", setCookie(names, names.session, "", 0))
      .code(204)
      .send();
  });
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "string" ? header : undefined;
}

function notOfOwnPage(): ServerError {
  return new ServerError("forbidden", "the request does not come from a page of this server");
}

/** What stands for a code where a secret of a login session would: never one of these. */
function proofOf(code: string): string {
  return `console-code\0${code}`;
}

/** What was sent, without a body: a request for a code has none. */
function signedOf({ raw, method }: FastifyRequest): Parameters<Authenticator["authenticate"]>[0] {
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < raw.rawHeaders.length; at += 2) {
    headers.push([raw.rawHeaders[at] ?? "", raw.rawHeaders[at + 1] ?? ""]);
  }
  return { method, target: raw.url ?? "", headers, body: new Uint8Array() };
}

function callbackOf(origin: string, { name }: IdentityProvider): string {
  return `${origin}/auth/callback/${name}`;
}

/** A page of the console, or one of a command's login, and nothing else: not another site, by whatever spelling. */
function pageOf(to: string | undefined): string {
  return to !== undefined && PAGE.test(to) ? to : HOME;
}

/** Why, without what was sent along: messages of the protocol, not the codes and tokens in it. */
function reasonOf(reason: unknown): string {
  if (typeof reason === "string") return reason;
  if (!(reason instanceof Error)) return "it failed";
  const { name, message } = reason;
  const code = "code" in reason ? String(reason.code) : "";
  return `${name} ${code}: ${message}`.slice(0, 300);
}

function seal(key: Uint8Array, flow: Flow): string {
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  const text = Buffer.concat([cipher.update(JSON.stringify(flow)), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64url");
}

function open(key: Uint8Array, sealed: string): Flow | undefined {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.byteLength < 29) return undefined;
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12));
    decipher.setAuthTag(bytes.subarray(12, 28));
    const text = Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
    return JSON.parse(text.toString("utf8")) as Flow;
  } catch {
    return undefined;
  }
}
