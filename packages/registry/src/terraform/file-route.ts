import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { clientSignal } from "../http/client-signal.ts";
import type { Registry } from "../registry.ts";
import { parseRange } from "./byte-range.ts";
import { parseFileToken } from "./file-tokens.ts";
import { checksumList, readRelease } from "./releases.ts";
import type { SigningKey } from "./signing-key.ts";

/** What the route of files works with. */
interface FileRouteOptions {
  readonly registry: Registry;
  readonly region: string;
  readonly signingKey: SigningKey;
  readonly key: () => Promise<Uint8Array>;
}

/**
 * Serves what a signed address leads to: archives with ranges and as streams, lists of checksums, and their signatures.
 * No header is read but `Range`, `If-Range` and `If-None-Match`: the address is the permission.
 */
export async function serveFile(
  request: FastifyRequest,
  reply: FastifyReply,
  token: string,
  options: FileRouteOptions,
): Promise<FastifyReply> {
  const { registry, region, signingKey } = options;
  const target = parseFileToken(await options.key(), token, registry.parts.clock.wallMs());
  if (target === "forged") return refuse(reply, 403, "the address of the file is not valid");
  if (target === "expired") return refuse(reply, 403, "the address of the file has expired");
  reply.header("cache-control", "private, no-transform");
  if (target.kind === "archive") {
    const { sha256, size } = target;
    return sendArchive(request, reply, registry, { sha256, size });
  }
  const release = await readRelease(registry, region, target.release, {
    signal: clientSignal(reply),
  });
  if (release === undefined || release.archives.length < target.count) {
    return refuse(reply, 404, "the release is gone");
  }
  const list = checksumList(release, target.count);
  if (target.kind === "sums") return reply.type("text/plain; charset=utf-8").send(list);
  const signature = await signingKey.sign(list);
  return reply.type("application/octet-stream").send(Buffer.from(signature));
}

function sendArchive(
  request: FastifyRequest,
  reply: FastifyReply,
  { blobs }: Registry,
  { sha256, size }: { readonly sha256: string; readonly size: number },
): FastifyReply {
  const etag = `"${sha256}"`;
  const { range, "if-range": ifRange, "if-none-match": ifNoneMatch } = request.headers;
  reply.header("etag", etag).header("accept-ranges", "bytes").type("application/zip");
  if (ifNoneMatch === etag) return reply.code(304).send();
  const part = ifRange === undefined || ifRange === etag ? parseRange(range, size) : undefined;
  if (part === "unsatisfiable") {
    return reply.code(416).header("content-range", `bytes */${size}`).send();
  }
  const { offset, length } = part ?? { offset: 0, length: size };
  if (part !== undefined) {
    reply.code(206).header("content-range", `bytes ${offset}-${offset + length - 1}/${size}`);
  }
  reply.header("content-length", length);
  // Without a body of its own fastify would say that the length is zero.
  if (request.method === "HEAD") return reply.send(Readable.from([]));
  const options = { offset, length, compareWhole: false, signal: clientSignal(reply) };
  const bytes = blobs.read(sha256, options);
  return reply.send(Readable.from(bytes, { objectMode: false }));
}

function refuse(reply: FastifyReply, status: number, message: string): FastifyReply {
  reply.header("cache-control", "no-store");
  return reply
    .code(status)
    .type("application/json")
    .send(JSON.stringify({ errors: [message] }));
}
