import { randomUUID } from "node:crypto";
import { isJsonObject, readJsonObject } from "@stackwright/base/json";
import { decodeBase64, encodeBase64 } from "../envelope/base64.ts";
import type { JsonMembers } from "../envelope/json-problem.ts";
import type { InstanceRequest, InstanceResponse, ResolvedFunction } from "./function-definition.ts";
import { PlatformError } from "./platform-error.ts";

/** What came of an invocation: an answer of the function, or its failure. */
export type InvocationResult = {
  readonly definition: ResolvedFunction;
  readonly requestId: string;
} & (
  | { readonly response: InstanceResponse; readonly failure?: never }
  | {
      readonly response?: never;
      readonly failure: { readonly code: string; readonly text: string };
    }
);

/** The request that the instance gets for an event, with the headers of the platform. */
export function readEvent(
  definition: ResolvedFunction,
  event: Uint8Array,
): { readonly request: InstanceRequest; readonly requestId: string } {
  const requestId = randomUUID();
  const headers = {
    "content-type": "application/json",
    "x-cff-request-id": requestId,
    "x-cff-timeout": String(Math.ceil(definition.timeoutMs / 1000)),
    "x-cff-func-name": definition.name,
    "x-cff-func-version": definition.qualifier,
    "x-cff-project-id": definition.project,
    "x-cff-region": definition.region,
  };
  if (definition.kind === "event") {
    return { requestId, request: { method: "POST", path: "/provider", headers, body: event } };
  }
  const read = readJsonObject(event);
  const { httpMethod, path, body, isBase64Encoded, headers: own }: JsonMembers = read.object ?? {};
  if (typeof httpMethod !== "string" || typeof path !== "string" || !path.startsWith("/")) {
    throw new PlatformError(
      400,
      "FSS.0400",
      "an HTTP function is invoked with httpMethod and path",
    );
  }
  const bytes =
    typeof body !== "string"
      ? new Uint8Array()
      : isBase64Encoded === true
        ? decodeBase64(body)
        : Buffer.from(body);
  if (bytes === undefined) throw new PlatformError(400, "FSS.0400", "the body is not base64");
  const given = Object.entries(isJsonObject(own) ? own : {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return {
    requestId,
    request: {
      method: httpMethod,
      path,
      headers: {
        ...Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), value])),
        ...headers,
      },
      body: bytes,
    },
  };
}

/** The answer as the function gave it, in the form of its kind. */
function resultText({ definition, response, failure }: InvocationResult): string {
  if (failure !== undefined) {
    return JSON.stringify({ errorCode: failure.code, errorMessage: failure.text });
  }
  const { status, headers, body } = response;
  if (definition.kind === "event") return Buffer.from(body).toString();
  return JSON.stringify({
    statusCode: status,
    headers,
    isBase64Encoded: true,
    body: encodeBase64(body),
  });
}

/** Body of a synchronous answer: wrapped for `X-CFF-Request-Version: v1`, the result alone otherwise. */
export function encodeInvocation(result: InvocationResult, wrapped: boolean): Uint8Array {
  const text = resultText(result);
  if (!wrapped) return Buffer.from(text);
  const status = result.failure === undefined ? 200 : 500;
  return Buffer.from(
    JSON.stringify({ request_id: result.requestId, result: text, log: "", status }),
  );
}

/** What the platform writes into storage after an asynchronous invocation. */
export function encodeStored(
  urn: string,
  requestId: string,
  result: InvocationResult,
  time: Date,
): Uint8Array {
  return Buffer.from(
    JSON.stringify({
      timestamp: time.toISOString(),
      request_context: { request_id: requestId, function_urn: urn, condition: "Success" },
      response_context: { status_code: 200, function_error: "" },
      response_payload: resultText(result),
    }),
  );
}
