import { gunzipSync, gzipSync } from "node:zlib";
import { isJsonObject, readJsonObject } from "@stackwright/base/json";
import { FgBridgeError } from "../errors.ts";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import {
  type AdapterInfo,
  isFeature,
  type OperationOutcome,
  type ResponseReference,
} from "./extensions.ts";
import { type JsonMembers, jsonProblemText } from "./json-problem.ts";
import { ENVELOPE_LIMITS, type EnvelopeLimits } from "./request.ts";

/** What a function answers, in the form in which both sides of the bridge handle it. */
export interface EnvelopeResponse {
  /** Encoded response message; empty when `error` is not. */
  readonly responseData: Uint8Array;
  /** Text of the gRPC error; empty: the call succeeded. Diagnostics are not errors. */
  readonly error: string;
  readonly adapter?: AdapterInfo;
  /** With an error of a method that changes something: whether it may have happened. */
  readonly outcome?: OperationOutcome;
  /** Digest of the schema in the response, or of the one that the caller has already. */
  readonly schemaDigest?: string;
  /** The response is stored elsewhere. */
  readonly reference?: ResponseReference;
}

/** Encodes a response. With `gzip` the payload is compressed, for callers that accept it. */
export function encodeResponse(response: EnvelopeResponse, encoding?: "gzip"): Uint8Array {
  const { responseData, error, adapter, outcome, schemaDigest, reference } = response;
  const compressed = encoding === "gzip" && responseData.length > 0;
  return Buffer.from(
    JSON.stringify({
      response_data: encodeBase64(compressed ? gzipSync(responseData) : responseData),
      error,
      ...(compressed ? { response_encoding: "gzip" } : {}),
      ...(outcome === undefined ? {} : { outcome }),
      ...(schemaDigest === undefined ? {} : { schema_digest: schemaDigest }),
      ...(reference === undefined
        ? {}
        : {
            response_ref: {
              url: reference.url,
              sha256: reference.sha256,
              size: reference.sizeBytes,
            },
          }),
      ...(adapter === undefined ? {} : { adapter }),
    }),
  );
}

/** What the contract alone has of a response: the answer to a caller that negotiated nothing. */
export function contractResponse({ responseData, error }: EnvelopeResponse): EnvelopeResponse {
  return { responseData, error };
}

function invalid(problem: string): FgBridgeError {
  return new FgBridgeError("FG_RESPONSE_INVALID", `the function's answer is refused: ${problem}`);
}

/** Absent, null and empty all mean that there is none. */
function optionalText(object: JsonMembers, name: string): string {
  const value = object[name];
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw invalid(`${name} must be a string`);
  return value;
}

/** A function is foreign code: what is not well-formed in its introduction is left out. */
function adapterOf(object: JsonMembers): AdapterInfo | undefined {
  const { adapter } = object;
  if (!isJsonObject(adapter)) return undefined;
  const { name, version, features } = adapter;
  return {
    name: typeof name === "string" ? name.slice(0, 128) : "",
    version: typeof version === "string" ? version.slice(0, 64) : "",
    features: Array.isArray(features) ? features.slice(0, 64).filter(isFeature) : [],
  };
}

function outcomeOf(object: JsonMembers): OperationOutcome | undefined {
  switch (object.outcome) {
    case "not-applied":
    case "running":
    case "done":
    case "unknown":
      return object.outcome;
    default:
      return undefined;
  }
}

function referenceOf(object: JsonMembers): ResponseReference | undefined {
  const value = object.response_ref;
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw invalid("response_ref must be an object");
  const { url, sha256, size } = value;
  if (typeof url !== "string" || url.length > 4096) throw invalid("response_ref.url");
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256)) {
    throw invalid("response_ref.sha256");
  }
  if (!Number.isSafeInteger(size) || (size as number) < 0) throw invalid("response_ref.size");
  return { url, sha256, sizeBytes: size as number };
}

/**
 * Parses the body of an answer with status 200. An error text together with response data counts as a failure.
 *
 * @throws FgBridgeError `FG_RESPONSE_INVALID`, `FG_RESPONSE_TOO_LARGE`; texts never quote payloads
 */
export function parseResponse(
  body: Uint8Array,
  limits: EnvelopeLimits = ENVELOPE_LIMITS,
): EnvelopeResponse {
  const read = readJsonObject(body);
  if (read.problem !== undefined) throw invalid(jsonProblemText(read.problem));
  const { object } = read;
  const error = optionalText(object, "error");
  const reference = referenceOf(object);
  const adapter = adapterOf(object);
  const outcome = outcomeOf(object);
  const schemaDigest = optionalText(object, "schema_digest");
  if (error === "" && reference === undefined && typeof object.response_data !== "string") {
    throw invalid("it holds neither response_data nor error");
  }
  const bytes = decodeBase64(optionalText(object, "response_data"));
  if (bytes === undefined) throw invalid("response_data is not base64");
  const encoding = optionalText(object, "response_encoding");
  if (encoding !== "" && encoding !== "gzip") throw invalid("response_encoding is not known");
  return {
    responseData: encoding === "gzip" && bytes.length > 0 ? inflate(bytes, limits) : bytes,
    error,
    ...(adapter === undefined ? {} : { adapter }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(schemaDigest === "" ? {} : { schemaDigest }),
    ...(reference === undefined ? {} : { reference }),
  };
}

function inflate(bytes: Uint8Array, limits: EnvelopeLimits): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: limits.maxPayloadBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw new FgBridgeError(
        "FG_RESPONSE_TOO_LARGE",
        `response_data grows beyond ${limits.maxPayloadBytes} bytes`,
        { limitBytes: limits.maxPayloadBytes },
      );
    }
    throw invalid("response_data is not gzip");
  }
}
