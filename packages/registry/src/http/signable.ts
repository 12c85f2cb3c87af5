import type { SignableRequest } from "@stackwright/request-signing";
import type { FastifyRequest } from "fastify";

/** A request as its sender signed it: the target as it was sent, every header, the bytes of the body. */
export function signableRequest(
  request: FastifyRequest,
  body: SignableRequest["body"] = EMPTY,
): SignableRequest {
  const { rawHeaders } = request.raw;
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  }
  return { method: request.method, target: request.raw.url ?? request.url, headers, body };
}

const EMPTY = new Uint8Array();
