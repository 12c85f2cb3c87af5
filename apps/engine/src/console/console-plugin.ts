import { createHash } from "node:crypto";
import { STATUS_CODES } from "node:http";
import { type ConsoleFile, readConsole } from "@stackwright/console";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { answerError } from "../error-answer.ts";

/** Reads the files of the console. */
type ReadFiles = () => Promise<ReadonlyMap<string, ConsoleFile>>;

const PREFIX = "/console/";

/** Nothing runs, loads or is shown inside another page but what this server sends itself. */
const SECURITY_HEADERS = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types stackwright",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "x-frame-options": "DENY",
} as const;

/**
 * The console below `/console/`, and a redirect to it for browsers that open the address of the server. Its files are public: they
 * hold no data. They are read at the first request, so that a server without visitors spends nothing on them.
 */
export function consolePlugin(fastify: FastifyInstance, read: ReadFiles = readConsole): void {
  let reading: ReturnType<ReadFiles> | undefined;
  const files: ReadFiles = async () => {
    reading ??= read();
    try {
      return await reading;
    } catch (error) {
      // The next request tries again.
      reading = undefined;
      throw error;
    }
  };
  const hidden = { schema: { hide: true } };

  fastify.get("/", hidden, async (request, reply) => {
    // Programs that look for an API here are not led to a page.
    if (!wantsPage(request)) return answerError(request, reply, { statusCode: 404 });
    return reply.redirect(PREFIX, 302);
  });
  fastify.get("/console", hidden, async (_request, reply) => reply.redirect(PREFIX, 301));
  fastify.get<{ Params: { "*": string } }>("/console/*", hidden, async (request, reply) => {
    let found: ReadonlyMap<string, ConsoleFile>;
    try {
      found = await files();
    } catch (error) {
      request.log.error({ err: error }, "the files of the console cannot be read");
      return reply
        .code(503)
        .headers({ ...SECURITY_HEADERS, "cache-control": "no-store", "retry-after": "5" })
        .type("text/plain; charset=utf-8")
        .send(
          `${STATUS_CODES[503]}: the console is not available; the log of the server says why.\n`,
        );
    }
    const { "*": path } = request.params;
    // Addresses of pages are made by the page itself.
    const file =
      found.get(path) ?? (path.startsWith("assets/") ? undefined : found.get("index.html"));
    if (file === undefined) return answerError(request, reply, { statusCode: 404 });
    return sendFile(request, reply, file);
  });
}

function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes("text/html") === true;
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile): FastifyReply {
  const { content, gzip, contentType, isImmutable } = file;
  const etag = `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`;
  reply.headers({
    ...SECURITY_HEADERS,
    etag,
    vary: "accept-encoding",
    "cache-control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
  });
  if (request.headers["if-none-match"] === etag) return reply.code(304).send();
  const isPacked = gzip !== undefined && /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
  if (isPacked) reply.header("content-encoding", "gzip");
  return reply.type(contentType).send(isPacked ? gzip : content);
}
