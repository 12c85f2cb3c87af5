import { STATUS_CODES } from "node:http";
import { isEngineError } from "@stackwright/core/errors";
import { isRegistryError } from "@stackwright/registry";
import { isStorageError } from "@stackwright/storage";
import type { FastifyReply, FastifyRequest } from "fastify";
import { SERVER_ERRORS, ServerError, type ServerErrorCode } from "../domain/server-error.ts";

const NO_SPACE =
  "no space is left on the disk of the store; an operator of the server has to make some";

/** Any error as an error of the API. What is not foreseen is `internal`, without its text. */
export function serverErrorOf(error: unknown): ServerError {
  if (error instanceof ServerError) return error;
  if (isRegistryError(error)) return new ServerError(ofStatus(error.httpStatus), error.message);
  if (isStorageError(error, "STORAGE_INCONSISTENT")) {
    // Where it is, is the operator's to know, and in the log.
    const text = error.details.fullDisk === undefined ? undefined : NO_SPACE;
    return new ServerError("store_unavailable", text, { cause: error });
  }
  // Other writers were faster again and again.
  if (isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_GUARD_FAILED", "STORAGE_WRONG_UID")) {
    return new ServerError("conflict", "the resource changes too often; try again", {
      cause: error,
    });
  }
  if (isStorageError(error, "STORAGE_TOO_LARGE")) {
    return new ServerError("too_large", error.message, { cause: error });
  }
  if (isStorageError(error, "STORAGE_QUOTA_EXCEEDED")) {
    return new ServerError("quota_exceeded", error.message, { cause: error });
  }
  if (isStorageError(error, "STORAGE_INVALID_ARGUMENT")) {
    return new ServerError("invalid_request", error.message, { cause: error });
  }
  if (isEngineError(error, "ENGINE_KEY_UNAVAILABLE")) {
    return new ServerError("key_unavailable", undefined, { cause: error });
  }
  if (isEngineError(error, "ENGINE_CONFIG_INVALID")) {
    return new ServerError("invalid_request", error.message, { cause: error });
  }
  const { statusCode } = error as { statusCode?: unknown };
  const isRefusal = typeof statusCode === "number" && statusCode >= 400 && statusCode < 500;
  return new ServerError(isRefusal ? ofStatus(statusCode) : "internal", undefined, {
    cause: error,
  });
}

const BY_STATUS: ReadonlyMap<number, ServerErrorCode> = new Map([
  [401, "unauthenticated"],
  [403, "forbidden"],
  [404, "not_found"],
  [413, "too_large"],
  [415, "unsupported_media_type"],
  [429, "rate_limited"],
]);

function ofStatus(status: number): ServerErrorCode {
  return BY_STATUS.get(status) ?? (status >= 500 ? "internal" : "invalid_request");
}

/** Answers with a problem document (RFC 9457) whose `code` is stable. */
export function answerProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
): FastifyReply {
  const error = serverErrorOf(thrown);
  const { httpStatus: status = 500, retryable } = SERVER_ERRORS[error.code];
  if (status >= 500 && error.code !== "quota_exceeded")
    request.log.error({ err: thrown }, "a request failed");
  // What is left of an upload is not worth reading.
  if (!request.raw.complete) reply.header("connection", "close");
  if (retryable) reply.header("retry-after", String(Math.ceil(error.retryAfterMs / 1_000)));
  const problem = {
    type: `urn:stackwright:problem:${error.code}`,
    title: STATUS_CODES[status] ?? "Error",
    status,
    detail: error.message,
    code: error.code,
    request_id: request.id,
    ...(error.errors.length > 0 && { errors: error.errors }),
  };
  return reply.code(status).type("application/problem+json").send(JSON.stringify(problem));
}
