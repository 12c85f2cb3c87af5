import type { CallOutcome } from "@stackwright/base/error-kind";
import { isJsonObject, readJsonObject } from "@stackwright/base/json";
import { sanitizeRemoteText } from "../envelope/grpc-text.ts";
import { FgBridgeError, type FgBridgeErrorCode } from "../errors.ts";
import type { ExchangeResponse } from "./http-exchange.ts";

/** Codes of the platform that say that the function was not reached. */
const NOT_DISPATCHED = new Map<string, FgBridgeErrorCode>([
  ["FSS.0429", "FG_THROTTLED"],
  ["FSS.0503", "FG_THROTTLED"],
  ["FSS.0404", "FG_FUNCTION_NOT_FOUND"],
  ["FSS.0413", "FG_REQUEST_TOO_LARGE"],
  ["FSS.1201", "FG_REQUEST_TOO_LARGE"],
  ["FSS.0401", "FG_UNAUTHORIZED"],
  ["FSS.0403", "FG_FORBIDDEN"],
]);

/** Statuses that refuse a request by what they mean, from any sender. */
const REFUSALS = new Map<number, FgBridgeErrorCode>([
  [401, "FG_UNAUTHORIZED"],
  [404, "FG_FUNCTION_NOT_FOUND"],
  [405, "FG_FUNCTION_NOT_FOUND"],
  [413, "FG_REQUEST_TOO_LARGE"],
  [429, "FG_THROTTLED"],
]);

/** Only what a status says in words of its own; a body as a whole may hold anything. */
function reasonOf(body: Uint8Array): {
  readonly code?: string;
  readonly text?: string;
  readonly outcome?: CallOutcome;
} {
  const read = readJsonObject(body);
  if (read.problem !== undefined) return {};
  const { error, error_msg, error_code, outcome } = read.object;
  const text = [error, error_msg].find((value) => typeof value === "string" && value !== "");
  return {
    ...(typeof error_code === "string" ? { code: error_code } : {}),
    ...(typeof text === "string" ? { text: sanitizeRemoteText(text, 500) } : {}),
    ...(isJsonObject(read.object) && outcome === "not-applied" ? { outcome } : {}),
  };
}

/**
 * The error for an answer with another status than 200.
 *
 * It counts as not begun only where that is sure: by a code of the platform for what it did not dispatch, by a
 * status that refuses, or because the function side says so. A 503 alone may come from a gateway that lost its
 * connection to the function in the middle of a call.
 *
 * @param credentials the credentials of the caller as text, for the message to a refused caller
 */
export function failedStatus(
  response: ExchangeResponse,
  target: string,
  credentials?: string,
): FgBridgeError {
  const { status, body } = response;
  const { code, text, outcome } = reasonOf(body);
  const shown = [code, text].filter((part) => part !== undefined).join(": ");
  const message = `the function answered with status ${status}${shown === "" ? "" : `, ${shown}`}`;
  const options = { httpStatus: status, target, ...(outcome === undefined ? {} : { outcome }) };
  if (status >= 300 && status < 400) {
    const reason = `the function answered with a redirect (${status}), which is not followed`;
    return new FgBridgeError("FG_REDIRECT_REFUSED", reason, options);
  }
  const known = NOT_DISPATCHED.get(code ?? "") ?? REFUSALS.get(status);
  if (known !== undefined) {
    const shownWith = credentials === undefined ? "" : `; it was called with ${credentials}`;
    const refused = known === "FG_UNAUTHORIZED" ? message + shownWith : message;
    return new FgBridgeError(known, refused, options);
  }
  if (status === 408 || status === 504) return new FgBridgeError("FG_TIMEOUT", message, options);
  return new FgBridgeError("FG_FUNCTION_STATUS", message, {
    ...options,
    retryable: status >= 500,
  });
}
