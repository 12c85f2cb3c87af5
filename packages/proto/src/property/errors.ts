import type { PropertyPath } from "./path.ts";
import { formatPropertyPath } from "./path.ts";

/**
 * Everything the property codec refuses. None of it gets better by trying again; on a server each
 * is an INVALID_ARGUMENT.
 */
export const PROPERTY_ERRORS = {
  /** The bytes are not a well-formed Struct or Value message, or a value has no kind. */
  PROPERTY_WIRE_INVALID: "malformed message",
  /** A string is not valid UTF-8 on the wire, or has a lone surrogate in memory. */
  PROPERTY_TEXT_INVALID: "invalid text",
  /** An object has the signature key with a value that says nothing known. */
  PROPERTY_SIGNATURE_UNKNOWN: "unknown signature",
  /** A signature object lacks a required member, or a member has the wrong type. */
  PROPERTY_MALFORMED: "malformed value",
  /** An unknown value where the options reject them. */
  PROPERTY_UNKNOWN_REJECTED: "unexpected unknown value",
  /** An asset or archive where the options reject them. */
  PROPERTY_ASSET_REJECTED: "unexpected asset or archive",
  /** A string that is not valid UTF-8, for a receiver that does not take byte strings. */
  PROPERTY_BYTES_REJECTED: "the receiver does not take byte strings",
  /** The encoded message would be larger than protobuf allows (2 GiB). */
  PROPERTY_TOO_LARGE: "message too large",
  /** A JavaScript value without a JSON form, or one that contains itself. */
  PROPERTY_JSON_INVALID: "not a JSON value",
} as const;

export type PropertyErrorCode = keyof typeof PROPERTY_ERRORS;

/** A value the property codec refuses, with the path of the property in question. */
export class PropertyError extends Error {
  override readonly name = "PropertyError";
  readonly code: PropertyErrorCode;
  /** Path of the property; wrappers such as a secret's `value` member are not steps of it. */
  readonly path: PropertyPath;
  readonly retryable = false;

  constructor(code: PropertyErrorCode, path: PropertyPath, detail = "") {
    const where = path.length === 0 ? "top level" : `property ${describePath(path)}`;
    super(`${where}: ${PROPERTY_ERRORS[code]}${detail === "" ? "" : `: ${detail}`}`);
    this.code = code;
    this.path = path;
  }
}

const SHOWN_STEPS = 20;

/** The path for messages: of a very long one, the beginning and the end. */
function describePath(path: PropertyPath): string {
  if (path.length <= 2 * SHOWN_STEPS) return formatPropertyPath(path);
  const [start, end] = [path.slice(0, SHOWN_STEPS), path.slice(-SHOWN_STEPS)];
  return `${formatPropertyPath(start)}…${formatPropertyPath(end)} (${path.length} steps)`;
}
