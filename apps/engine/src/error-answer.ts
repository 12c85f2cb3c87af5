import { STATUS_CODES } from "node:http";
import { rfsFailure } from "@stackwright/registry/rfs";
import type { FastifyReply, FastifyRequest } from "fastify";

const CODES: ReadonlyMap<number, string> = new Map([
  [404, "not_found"],
  [405, "method_not_allowed"],
  [413, "too_large"],
  [415, "unsupported_media_type"],
]);

/**
 * Answers what no face of the server takes: requests for routes that it does not have, or that are not valid HTTP,
 * and failures of its own routes. Below `/v1` the RFS API has its form of errors; elsewhere they are problem
 * documents (RFC 9457) with a `code`. An internal failure is shown without its text.
 */
export function answerError(
  request: Pick<FastifyRequest, "id" | "raw">,
  reply: FastifyReply,
  error: unknown,
): FastifyReply {
  const [path = ""] = (request.raw.url ?? "").split("?", 1);
  if (path === "/v1" || path.startsWith("/v1/")) {
    const { status, body } = rfsFailure(error);
    return reply.code(status).type("application/json").send(JSON.stringify(body));
  }
  const { statusCode } = error as { statusCode?: unknown };
  const isRefusal = typeof statusCode === "number" && statusCode >= 400 && statusCode < 500;
  const status = isRefusal ? statusCode : 500;
  const code = CODES.get(status) ?? (isRefusal ? "invalid_request" : "internal");
  const problem = {
    type: "about:blank",
    title: STATUS_CODES[status] ?? "Error",
    status,
    detail: detailOf(status, request.raw.method ?? ""),
    code,
    request_id: request.id,
  };
  return reply.code(status).type("application/problem+json").send(JSON.stringify(problem));
}

function detailOf(status: number, method: string): string {
  if (status === 404)
    return `the server has no such route for ${method}; /openapi.json lists its routes`;
  return status === 500 ? "the server failed; its log has the reason" : "the request is not valid";
}
