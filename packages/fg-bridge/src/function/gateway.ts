import { readJsonObject } from "@stackwright/base/json";
import { decodeBase64, encodeBase64 } from "../envelope/base64.ts";
import type { HandleReply } from "./function-handler.ts";

/**
 * The envelope in a gateway event, if the body is one: the platform hands requests over in this form to functions that it
 * calls through a gateway. A body that is an envelope itself, or neither, is `undefined`.
 */
export function unwrapGatewayEvent(body: Uint8Array): Uint8Array | undefined {
  // Nearly every body is an envelope, and need not be parsed twice.
  if (!Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes('"httpMethod"')) {
    return undefined;
  }
  const read = readJsonObject(body);
  if (read.problem !== undefined || "method_name" in read.object) return undefined;
  const { httpMethod, path, body: inner, isBase64Encoded } = read.object;
  if (httpMethod !== "POST" || path !== "/provider" || typeof inner !== "string") return undefined;
  return isBase64Encoded === false ? Buffer.from(inner) : decodeBase64(inner);
}

/** An answer to a gateway event. */
export function wrapGatewayReply({ status, body }: HandleReply): Uint8Array {
  return Buffer.from(
    JSON.stringify({
      statusCode: status,
      headers: { "content-type": "application/json" },
      isBase64Encoded: true,
      body: encodeBase64(body),
    }),
  );
}
