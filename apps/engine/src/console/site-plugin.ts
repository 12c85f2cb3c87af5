import { createHash } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { SiteFile } from "@stackwright/console";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { answerError } from "../error-answer.ts";

/** Static files below one path of the server. */
interface Site {
  /** Ends with a slash. */
  readonly prefix: string;
  /** How messages name it. */
  readonly name: string;
  /** Called at the first request, so that a server without visitors spends nothing on it. */
  readonly read: () => Promise<ReadonlyMap<string, SiteFile>>;
  /** The file for an address that names none. */
  readonly fallback: (path: string) => string | undefined;
}

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

/** Serves the files of a site. They are public: they hold no data. */
export function sitePlugin(fastify: FastifyInstance, site: Site): void {
  const { prefix, name } = site;
  let reading: ReturnType<Site["read"]> | undefined;
  const files: Site["read"] = async () => {
    reading ??= site.read();
    try {
      return await reading;
    } catch (error) {
      // The next request tries again.
      reading = undefined;
      throw error;
    }
  };
  const hidden = { schema: { hide: true } };
  fastify.get(prefix.slice(0, -1), hidden, async (_request, reply) => reply.redirect(prefix, 301));
  fastify.get<{ Params: { "*": string } }>(`${prefix}*`, hidden, async (request, reply) => {
    let found: ReadonlyMap<string, SiteFile>;
    try {
      found = await files();
    } catch (error) {
      request.log.error({ err: error, site: name }, "the files of a site cannot be read");
      return reply
        .code(503)
        .headers({ ...SECURITY_HEADERS, "cache-control": "no-store", "retry-after": "5" })
        .type("text/plain; charset=utf-8")
        .send(`${STATUS_CODES[503]}: ${name} is not available; the log of the server says why.\n`);
    }
    const { "*": path } = request.params;
    const other = site.fallback(path);
    const file = found.get(path) ?? (other === undefined ? undefined : found.get(other));
    if (file === undefined) return answerError(request, reply, { statusCode: 404 });
    return sendFile(request, reply, file);
  });
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: SiteFile): FastifyReply {
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
