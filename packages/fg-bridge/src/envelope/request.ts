import { gunzipSync, gzipSync } from "node:zlib";
import { isJsonObject, readJsonObject } from "@stackwright/base/json";
import { FgBridgeError } from "../errors.ts";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import { type Feature, isFeature } from "./extensions.ts";
import { type JsonMembers, jsonProblemText } from "./json-problem.ts";

/** One call of a provider method, as it crosses the wire. */
export interface EnvelopeRequest {
  /** One of the 13 names; not checked here. */
  readonly methodName: string;
  /** Encoded request message; may be empty. */
  readonly requestData: Uint8Array;
  readonly sessionId: string;
  /** Encoded `Configure.Request`; empty: the provider is not to be configured. */
  readonly configData: Uint8Array;
  /** The members that the contract does not have. */
  readonly extensions: RequestExtensions;
}

export interface RequestExtensions {
  /** Of the operation on one state object; the same for a repetition. */
  readonly callId?: string;
  /** How often this operation was sent before; a repetition that is safe has a higher one. */
  readonly attempt?: number;
  /** Fence epoch of the run. */
  readonly epoch?: bigint;
  readonly accept?: readonly Feature[];
  /** Digest of the schema that the caller has. */
  readonly schemaDigest?: string;
  /** How long the caller waits, in milliseconds from the arrival. */
  readonly deadlineMs?: number;
}

/** Wire names of the members in {@link RequestExtensions}, and of the encoding. */
const EXTENSION_MEMBERS = [
  "call_id",
  "attempt",
  "epoch",
  "accept",
  "schema_digest",
  "deadline_ms",
  "request_encoding",
] as const;

/** Bounds of what a receiver takes in. */
export interface EnvelopeLimits {
  /** Of the whole body. */
  readonly maxBytes: number;
  /** Of one payload after decompression. */
  readonly maxPayloadBytes: number;
}

/** The platform's: 6 MB for a body. Compressed payloads may grow to 64 MB. */
export const ENVELOPE_LIMITS: EnvelopeLimits = Object.freeze({
  maxBytes: 6 * 1024 * 1024,
  maxPayloadBytes: 64 * 1024 * 1024,
});

/**
 * Encodes a request. With `gzip` the payloads are compressed, which only a function understands that has
 * announced it.
 */
export function encodeRequest(request: EnvelopeRequest, encoding?: "gzip"): Uint8Array {
  const { extensions: x } = request;
  const payload = (bytes: Uint8Array) =>
    encodeBase64(encoding === "gzip" && bytes.length > 0 ? gzipSync(bytes) : bytes);
  return Buffer.from(
    JSON.stringify({
      method_name: request.methodName,
      request_data: payload(request.requestData),
      context: {
        session_id: request.sessionId,
        config_data: payload(request.configData),
        ...(x.callId === undefined ? {} : { call_id: x.callId }),
        ...(x.attempt === undefined ? {} : { attempt: x.attempt }),
        ...(x.epoch === undefined ? {} : { epoch: x.epoch.toString() }),
        ...(x.accept === undefined ? {} : { accept: x.accept }),
        ...(x.schemaDigest === undefined ? {} : { schema_digest: x.schemaDigest }),
        ...(x.deadlineMs === undefined ? {} : { deadline_ms: x.deadlineMs }),
        ...(encoding === undefined ? {} : { request_encoding: encoding }),
      },
    }),
  );
}

function invalid(problem: string): FgBridgeError {
  return new FgBridgeError("FG_ENVELOPE_INVALID", `the request envelope is refused: ${problem}`);
}

function text(object: JsonMembers, name: string, path: string): string {
  const value = object[name];
  if (typeof value !== "string") throw invalid(`${path} must be a string`);
  return value;
}

function optionalText(context: JsonMembers, name: string, maxLength: number): string | undefined {
  const value = context[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string" || value === "" || value.length > maxLength) {
    throw invalid(`context.${name} must be a text of 1 to ${maxLength} characters`);
  }
  return value;
}

function optionalCount(context: JsonMembers, name: string): number | undefined {
  const value = context[name];
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw invalid(`context.${name} must be a whole number`);
  }
  return value as number;
}

function optionalEpoch(context: JsonMembers): bigint | undefined {
  const value = optionalText(context, "epoch", 20);
  if (value === undefined) return undefined;
  if (!/^\d+$/.test(value)) throw invalid("context.epoch must be a decimal number");
  return BigInt(value);
}

function acceptOf(context: JsonMembers): readonly Feature[] | undefined {
  const value = context.accept;
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || value.length > 64) throw invalid("context.accept must be a list");
  return value.filter(isFeature);
}

/**
 * Parses a request strictly.
 *
 * `method_name`, `request_data` and `context.session_id` must be strings; `context.config_data` may be
 * absent or null, which is the same as empty. Members that are not known are ignored; known extensions with
 * a wrong type are refused, since half-understood ones (a `call_id` above all) are worse than none.
 *
 * @throws FgBridgeError `FG_ENVELOPE_INVALID`, `FG_REQUEST_TOO_LARGE`; texts never quote payloads
 */
export function parseRequest(
  body: Uint8Array,
  limits: EnvelopeLimits = ENVELOPE_LIMITS,
): EnvelopeRequest {
  if (body.length > limits.maxBytes) throw tooLarge(body.length, limits.maxBytes);
  const read = readJsonObject(body);
  if (read.problem !== undefined) throw invalid(jsonProblemText(read.problem));
  const { object } = read;
  const methodName = text(object, "method_name", "method_name");
  const requestText = text(object, "request_data", "request_data");
  const context = object.context;
  if (!isJsonObject(context)) throw invalid("context must be an object");
  const sessionId = text(context, "session_id", "context.session_id");
  if (sessionId.length > 1024) throw invalid("context.session_id is longer than 1024 characters");
  const configText =
    context.config_data === undefined || context.config_data === null
      ? ""
      : text(context, "config_data", "context.config_data");
  const encoding = optionalText(context, "request_encoding", 16);
  if (encoding !== undefined && encoding !== "gzip") {
    throw invalid("context.request_encoding is not supported");
  }
  const payload = (value: string, path: string) => {
    const bytes = decodeBase64(value);
    if (bytes === undefined) throw invalid(`${path} is not base64`);
    return encoding === "gzip" && bytes.length > 0 ? inflate(bytes, path, limits) : bytes;
  };
  const callId = optionalText(context, "call_id", 256);
  const attempt = optionalCount(context, "attempt");
  const epoch = optionalEpoch(context);
  const accept = acceptOf(context);
  const schemaDigest = optionalText(context, "schema_digest", 128);
  const deadlineMs = optionalCount(context, "deadline_ms");
  return {
    methodName,
    requestData: payload(requestText, "request_data"),
    sessionId,
    configData: payload(configText, "context.config_data"),
    extensions: {
      ...(callId === undefined ? {} : { callId }),
      ...(attempt === undefined ? {} : { attempt }),
      ...(epoch === undefined ? {} : { epoch }),
      ...(accept === undefined ? {} : { accept }),
      ...(schemaDigest === undefined ? {} : { schemaDigest }),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    },
  };
}

/**
 * Whether a request has a member beyond the contract, so that its answer may have such members too. Also for envelopes that
 * `parseRequest` refuses; `false` for a body that is too large to be read.
 */
export function isExtendedRequest(
  body: Uint8Array,
  limits: EnvelopeLimits = ENVELOPE_LIMITS,
): boolean {
  if (body.length > limits.maxBytes) return false;
  const read = readJsonObject(body);
  if (read.problem !== undefined) return false;
  const { context } = read.object;
  return (
    isJsonObject(context) &&
    EXTENSION_MEMBERS.some((name) => context[name] !== undefined && context[name] !== null)
  );
}

function tooLarge(actualBytes: number, limitBytes: number): FgBridgeError {
  return new FgBridgeError(
    "FG_REQUEST_TOO_LARGE",
    `the request has ${actualBytes} bytes, ${limitBytes} are allowed`,
    { actualBytes, limitBytes },
  );
}

function inflate(bytes: Uint8Array, path: string, limits: EnvelopeLimits): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: limits.maxPayloadBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw new FgBridgeError(
        "FG_REQUEST_TOO_LARGE",
        `${path} grows beyond ${limits.maxPayloadBytes} bytes`,
        { limitBytes: limits.maxPayloadBytes },
      );
    }
    throw invalid(`${path} is not gzip`);
  }
}
