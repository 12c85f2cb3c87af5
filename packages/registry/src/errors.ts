import type { ErrorKind } from "@stackwright/base/error-kind";

/** Every error code of this package. */
export const REGISTRY_ERRORS = Object.freeze({
  REGISTRY_INVALID_FIELD: {
    retryable: false,
    httpStatus: 400,
    summary: "a field of the request is not valid",
  },
  REGISTRY_ID_MISMATCH: {
    retryable: false,
    httpStatus: 400,
    summary: "the id belongs to another object than the name",
  },
  REGISTRY_REGION_MISMATCH: {
    retryable: false,
    httpStatus: 400,
    summary: "the function is in another region than the registry",
  },
  REGISTRY_NOTHING_TO_UPDATE: {
    retryable: false,
    httpStatus: 400,
    summary: "the request changes nothing",
  },
  REGISTRY_MARKER_INVALID: {
    retryable: false,
    httpStatus: 400,
    summary: "the marker was not given for this request, or is too old",
  },
  REGISTRY_UNAUTHENTICATED: {
    retryable: false,
    httpStatus: 401,
    summary: "the caller could not be authenticated",
  },
  REGISTRY_FORBIDDEN: {
    retryable: false,
    httpStatus: 403,
    summary: "the caller is not allowed to do this",
  },
  REGISTRY_QUOTA_EXCEEDED: {
    retryable: false,
    httpStatus: 403,
    summary: "the limit of the account is reached",
  },
  REGISTRY_VERSIONS_EXIST: {
    retryable: false,
    httpStatus: 403,
    summary: "the provider still has versions",
  },
  REGISTRY_VERSION_IN_USE: {
    retryable: false,
    httpStatus: 403,
    summary: "the version is in use",
  },
  REGISTRY_PROVIDER_NOT_FOUND: {
    retryable: false,
    httpStatus: 404,
    summary: "there is no such provider",
  },
  REGISTRY_VERSION_NOT_FOUND: {
    retryable: false,
    httpStatus: 404,
    summary: "there is no such version of the provider",
  },
  REGISTRY_NOT_FOUND: { retryable: false, httpStatus: 404, summary: "there is nothing like that" },
  REGISTRY_PROVIDER_EXISTS: {
    retryable: false,
    httpStatus: 409,
    summary: "a provider of this name exists",
  },
  REGISTRY_VERSION_EXISTS: {
    retryable: false,
    httpStatus: 409,
    summary: "the version exists; versions cannot be changed",
  },
  REGISTRY_VERSION_RETIRED: {
    retryable: false,
    httpStatus: 409,
    summary: "the version number was used before for something else",
  },
  REGISTRY_NAMESPACE_TAKEN: {
    retryable: false,
    httpStatus: 409,
    summary: "the namespace belongs to another account",
  },
  REGISTRY_NAMESPACE_RESERVED: {
    retryable: false,
    httpStatus: 403,
    summary: "the namespace is reserved; an operator can grant it",
  },
  REGISTRY_NAMESPACE_IN_USE: {
    retryable: false,
    httpStatus: 409,
    summary: "the namespace has releases",
  },
  REGISTRY_VERSION_WITHDRAWN: {
    retryable: false,
    httpStatus: 410,
    summary: "the version was withdrawn",
  },
  REGISTRY_ARCHIVE_INVALID: {
    retryable: false,
    httpStatus: 422,
    summary: "the archive is not a package of this provider",
  },
  REGISTRY_ARCHIVE_TOO_LARGE: {
    retryable: false,
    httpStatus: 413,
    summary: "the archive is larger than allowed",
  },
  REGISTRY_RATE_LIMITED: {
    retryable: true,
    httpStatus: 429,
    summary: "too many requests; try again later",
  },
  REGISTRY_CONTENTION: {
    retryable: true,
    httpStatus: 503,
    summary: "too many others changed the same at the same time",
  },
  REGISTRY_UNREACHABLE: {
    retryable: true,
    httpStatus: 503,
    summary: "the registry does not answer",
  },
  REGISTRY_ANSWER_INVALID: {
    retryable: false,
    httpStatus: 502,
    summary: "the response is not from a Stackwright registry",
  },
  REGISTRY_CORRUPT: { retryable: false, httpStatus: 500, summary: "the stored data is damaged" },
  REGISTRY_KEY_MISSING: {
    retryable: false,
    httpStatus: 500,
    summary: "a stored secret is encrypted with a key that is not configured",
  },
} satisfies Record<string, ErrorKind>);

/** Code of a {@link RegistryError}; codes are contract, message texts are not. */
export type RegistryErrorCode = keyof typeof REGISTRY_ERRORS;

/** What is wrong with a field. */
export type FieldProblem =
  | "missing"
  | "unknown"
  | "too-long"
  | "too-short"
  | "wrong-type"
  | "not-integer"
  | "out-of-range"
  | "not-listed"
  | "pattern"
  | "incomplete"
  | "contradiction"
  | "duplicate"
  | "no-body"
  | "not-json";

/** Facts about an error, as far as its code has them. */
export interface RegistryErrorDetails {
  /** The field that is wrong, by its name on the wire. */
  readonly field?: string;
  readonly problem?: FieldProblem;
  /** Who uses the version. */
  readonly users?: readonly string[];
  /** The roles of which the caller needs one. */
  readonly needed?: readonly string[];
  readonly retryAfterMs?: number;
}

/** Any failure that a caller of the registry can do something about. */
export class RegistryError extends Error {
  override readonly name = "RegistryError";
  readonly code: RegistryErrorCode;
  readonly retryable: boolean;
  readonly details: RegistryErrorDetails;

  constructor(
    code: RegistryErrorCode,
    message?: string,
    options: { readonly details?: RegistryErrorDetails; readonly cause?: unknown } = {},
  ) {
    const kind = REGISTRY_ERRORS[code];
    super(message ?? kind.summary, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.retryable = kind.retryable;
    this.details = options.details ?? {};
  }

  get httpStatus(): number {
    return REGISTRY_ERRORS[this.code].httpStatus;
  }
}

/** Whether something is a {@link RegistryError}, of one code if that is given. */
export function isRegistryError(error: unknown, code?: RegistryErrorCode): error is RegistryError {
  return error instanceof RegistryError && (code === undefined || error.code === code);
}

/** A field that is not valid. */
export function invalidField(field: string, problem: FieldProblem, message: string): RegistryError {
  return new RegistryError("REGISTRY_INVALID_FIELD", message, { details: { field, problem } });
}
