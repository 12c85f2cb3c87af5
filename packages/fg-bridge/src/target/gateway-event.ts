import { isJsonObject, readJsonObject } from "@stackwright/base/json";
import { decodeBase64, encodeBase64 } from "../envelope/base64.ts";
import { jsonProblemText } from "../envelope/json-problem.ts";
import { FgBridgeError } from "../errors.ts";

/** A request for an HTTP function in the form in which the platform's gateway hands it over. */
export function encodeGatewayEvent(envelope: Uint8Array): Uint8Array {
  return Buffer.from(
    JSON.stringify({
      httpMethod: "POST",
      path: "/provider",
      headers: { "content-type": "application/json" },
      queryStringParameters: {},
      isBase64Encoded: true,
      body: encodeBase64(envelope),
    }),
  );
}

/** The result of an invocation, in any form. */
export interface GatewayReply {
  readonly status: number;
  readonly body: Uint8Array;
}

function invalid(problem: string): FgBridgeError {
  return new FgBridgeError("FG_RESPONSE_INVALID", `the function's answer is refused: ${problem}`);
}

/**
 * Takes the answer of a function out of what the platform puts around it: `{statusCode, headers,
 * isBase64Encoded, body}` of gateway-style functions, or the answer itself.
 *
 * @throws FgBridgeError `FG_RESPONSE_INVALID`
 */
export function decodeGatewayReply(result: Uint8Array): GatewayReply {
  const read = readJsonObject(result);
  if (read.problem !== undefined) throw invalid(jsonProblemText(read.problem));
  const { statusCode, body, isBase64Encoded } = read.object;
  if (statusCode === undefined) return { status: 200, body: result };
  if (typeof statusCode !== "number") throw invalid("statusCode must be a number");
  if (typeof body !== "string") throw invalid("body must be a string");
  // The platform's default for an absent flag is that the body is encoded.
  if (isBase64Encoded === false) return { status: statusCode, body: Buffer.from(body) };
  const bytes = decodeBase64(body);
  if (bytes === undefined) throw invalid("its body is not base64");
  return { status: statusCode, body: bytes };
}

/** Of an invocation with `X-CFF-Request-Version: v1`: `{request_id, result, log, status}`. */
export function decodeInvocation(body: Uint8Array): GatewayReply {
  const read = readJsonObject(body);
  if (read.problem !== undefined) throw invalid(jsonProblemText(read.problem));
  const { result, status } = read.object;
  if (typeof result !== "string") throw invalid("result must be a string");
  if (typeof status === "number" && status !== 200) {
    return { status, body: Buffer.from(result) };
  }
  return decodeGatewayReply(Buffer.from(result));
}

/**
 * What an asynchronous invocation left in storage: the notification that the platform writes, with
 * the answer in `response_payload`, or the answer alone.
 */
export function decodeStoredResult(object: Uint8Array): GatewayReply {
  const read = readJsonObject(object);
  if (read.problem !== undefined) throw invalid(jsonProblemText(read.problem));
  const payload = read.object.response_payload;
  if (typeof payload === "string") return decodeGatewayReply(Buffer.from(payload));
  if (isJsonObject(payload)) return decodeGatewayReply(Buffer.from(JSON.stringify(payload)));
  return decodeGatewayReply(object);
}
