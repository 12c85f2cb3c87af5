import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { TfeError } from "../errors.ts";
import type { LoginPort, TfeSignedIn } from "../port/login-port.ts";
import { readBody } from "../routes/route-context.ts";
import { readAddress, signAddress } from "../signed-address.ts";
import { loginPage, pagePolicy, refusedPage } from "./login-page.ts";
import { LOGIN_CLIENT, type LoginRequest, readLoginRequest } from "./login-request.ts";

interface LoginPluginOptions {
  readonly port: LoginPort;
}

/** How long a code is valid. */
const CODE_MS = 60_000;
const BODY_BYTES = 16 * 1024;

/** What a code is for: it is signed, and names the request that it answers. */
interface Code {
  readonly owner: TfeSignedIn;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly nonce: string;
}

/**
 * `login.v1`: the authorization code flow with PKCE by which `terraform login` gets a token, to be registered under a prefix. A page asks
 * for a token of the server. A code is used once: the token that it leads to is derived from it, and exists only once.
 */
export async function loginPlugin(
  fastify: FastifyInstance,
  { port }: LoginPluginOptions,
): Promise<void> {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  fastify.addHook("onRoute", (route) => {
    route.schema = { ...route.schema, hide: true } as object;
  });
  fastify.addHook("onRequest", async (request, reply) => {
    reply.headers({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
    const retryAfterMs = port.admit(request.ip);
    if (retryAfterMs > 0) {
      reply.header("retry-after", String(Math.ceil(retryAfterMs / 1_000)));
      closeUnread(request, reply);
      await reply.code(429).send({ error: "slow_down" });
    }
  });
  fastify.setErrorHandler(async (error, request, reply) => {
    const status = error instanceof TfeError ? error.httpStatus : statusOf(error);
    if (status >= 500) request.log.error({ err: error }, "a login failed");
    const code = status >= 500 ? "server_error" : "invalid_request";
    closeUnread(request, reply);
    return reply.code(status).send({ error: code });
  });
  const show = (
    reply: FastifyReply,
    status: number,
    page: string,
    request?: LoginRequest,
  ): FastifyReply =>
    reply
      .code(status)
      .headers({ "content-security-policy": pagePolicy(request) })
      .type("text/html; charset=utf-8")
      .send(page);

  fastify.get("/authorize", async (request, reply) => {
    const { searchParams } = new URL(request.url, "http://localhost");
    const asked = readLoginRequest(searchParams);
    if (asked === undefined) return show(reply, 400, refusedPage());
    return show(reply, 200, loginPage(asked, await choices(request)), asked);
  });

  /** What the page offers in the browser of a request. */
  const choices = async (request: FastifyRequest) => ({
    session: await port.session?.(request.headers),
    links: port.signInLinks?.(request.url) ?? [],
  });

  /** Who sends a form: the user of the browser, who saw the page, or who has the token in it. */
  const ownerOf = async (
    request: FastifyRequest,
    form: URLSearchParams,
  ): Promise<TfeSignedIn | undefined> => {
    const proof = form.get("page_token");
    if (proof === null) return port.owner((form.get("token") ?? "").trim());
    const session = await port.session?.(request.headers);
    return session !== undefined && isSame(session.pageToken, proof) ? session.owner : undefined;
  };

  fastify.post("/authorize", async (request, reply) => {
    const form = formOf(await readBody(request, BODY_BYTES));
    const asked = readLoginRequest(form);
    if (asked === undefined) return show(reply, 400, refusedPage());
    const owner = await ownerOf(request, form);
    if (owner === undefined) {
      const isToken = !form.has("page_token");
      const problem = isToken ? "The token is not valid." : "The sign-in is over. Begin again.";
      return show(reply, 401, loginPage(asked, { problem }), asked);
    }
    const { redirectUri, challenge, state } = asked;
    const nonce = Buffer.from(port.nonce()).toString("base64url");
    const code: Code = { owner, redirectUri, challenge, nonce };
    const address = new URL(redirectUri);
    address.searchParams.set(
      "code",
      signAddress(await port.codeKey(), code, port.wallMs() + CODE_MS),
    );
    address.searchParams.set("state", state);
    return reply.code(303).header("location", address.href).send();
  });

  fastify.post("/token", async (request, reply) => {
    const form = formOf(await readBody(request, BODY_BYTES));
    const key = await port.codeKey();
    const code = readCode(form, key, port.wallMs());
    const secret =
      code === undefined
        ? undefined
        : createHmac("sha256", key).update(`token\0${code.nonce}`).digest();
    const token =
      code === undefined || secret === undefined ? undefined : await port.issue(code.owner, secret);
    if (token === undefined) return reply.code(400).send({ error: "invalid_grant" });
    return reply.code(200).send({ access_token: token, token_type: "bearer" });
  });
}

/** What is left of a body is not worth reading, and who sends one without an end must not hold the connection. */
function closeUnread({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (!raw.complete) reply.header("connection", "close");
}

/** What is wrong with a request that could not be read has a status of its own; everything else was not expected. */
function statusOf(error: unknown): number {
  const { statusCode } = error as { readonly statusCode?: unknown };
  return typeof statusCode === "number" && statusCode >= 400 && statusCode < 500 ? statusCode : 500;
}

/** The code of a request, if the request is that of the command which the code was made for. */
function readCode(form: URLSearchParams, key: Uint8Array, nowMs: number): Code | undefined {
  let code: Code;
  try {
    code = readAddress(key, form.get("code") ?? "", nowMs) as Code;
  } catch (error) {
    if (error instanceof TfeError) return undefined;
    throw error;
  }
  const verifier = form.get("code_verifier") ?? "";
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const isOf =
    form.get("grant_type") === "authorization_code" &&
    form.get("client_id") === LOGIN_CLIENT &&
    form.get("redirect_uri") === code.redirectUri &&
    timingSafeEqual(Buffer.from(challenge), Buffer.from(code.challenge));
  return isOf ? code : undefined;
}

function isSame(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}

function formOf(body: Uint8Array): URLSearchParams {
  return new URLSearchParams(Buffer.from(body).toString("utf8"));
}
