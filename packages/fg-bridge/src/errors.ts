import type { CallOutcome } from "@stackwright/base/error-kind";

/** gRPC status names, as far as they occur in error texts of providers. */
export const GRPC_STATUSES = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

/** Name of a gRPC status; its number is the place in {@link GRPC_STATUSES}. */
export type GrpcStatus = (typeof GRPC_STATUSES)[number];

/** What is fixed per error code. */
export interface FgBridgeErrorKind {
  readonly status: GrpcStatus;
  /** Under which the function side and the local runtime answer, where they answer by a status. */
  readonly http: number;
  /** Whether the same call may succeed later without being changed. */
  readonly retryable: boolean;
  /** What the code says about the outcome when the error itself does not say it. */
  readonly outcome: CallOutcome;
}

/** Every way in which this package fails. Codes are contract, texts are not. */
export const FG_BRIDGE_ERRORS = Object.freeze({
  FG_OPTIONS_INVALID: kind("INVALID_ARGUMENT", 400, false, "not-applied"),
  FG_CLOSED: kind("UNAVAILABLE", 503, false, "not-applied"),
  FG_ENVELOPE_INVALID: kind("INVALID_ARGUMENT", 400, false, "not-applied"),
  FG_METHOD_REFUSED: kind("UNIMPLEMENTED", 200, false, "not-applied"),
  FG_UNAUTHORIZED: kind("UNAUTHENTICATED", 401, false, "not-applied"),
  FG_FORBIDDEN: kind("PERMISSION_DENIED", 403, false, "not-applied"),
  FG_REQUEST_TOO_LARGE: kind("RESOURCE_EXHAUSTED", 413, false, "not-applied"),
  FG_RESPONSE_TOO_LARGE: kind("RESOURCE_EXHAUSTED", 200, false, "unknown"),
  FG_RESPONSE_INVALID: kind("INTERNAL", 502, false, "unknown"),
  FG_FUNCTION_ERROR: kind("UNKNOWN", 200, false, "unknown"),
  FG_FUNCTION_STATUS: kind("UNAVAILABLE", 502, true, "unknown"),
  FG_FUNCTION_NOT_FOUND: kind("NOT_FOUND", 404, false, "not-applied"),
  FG_THROTTLED: kind("UNAVAILABLE", 429, true, "not-applied"),
  FG_UNREACHABLE: kind("UNAVAILABLE", 502, true, "not-applied"),
  FG_CONNECTION_LOST: kind("UNAVAILABLE", 502, true, "unknown"),
  FG_TIMEOUT: kind("DEADLINE_EXCEEDED", 504, true, "unknown"),
  FG_ASYNC_FAILED: kind("UNAVAILABLE", 502, false, "unknown"),
  FG_BREAKER_OPEN: kind("UNAVAILABLE", 503, true, "not-applied"),
  FG_LIMIT_EXCEEDED: kind("RESOURCE_EXHAUSTED", 429, true, "not-applied"),
  FG_URN_INVALID: kind("INVALID_ARGUMENT", 400, false, "not-applied"),
  FG_TARGET_UNKNOWN: kind("FAILED_PRECONDITION", 404, false, "not-applied"),
  FG_ADDRESS_REFUSED: kind("PERMISSION_DENIED", 403, false, "not-applied"),
  FG_REDIRECT_REFUSED: kind("PERMISSION_DENIED", 502, false, "unknown"),
  FG_PROVIDER_START_FAILED: kind("UNAVAILABLE", 200, true, "not-applied"),
  FG_PROVIDER_DIED: kind("UNAVAILABLE", 200, true, "unknown"),
  FG_PROTOCOL_REFUSED: kind("FAILED_PRECONDITION", 200, false, "not-applied"),
  FG_OPERATION_RUNNING: kind("ABORTED", 200, true, "unknown"),
  FG_OPERATION_CONFLICT: kind("FAILED_PRECONDITION", 200, false, "unknown"),
  FG_OPERATION_UNRESOLVED: kind("ABORTED", 200, false, "unknown"),
  FG_EPOCH_STALE: kind("FAILED_PRECONDITION", 200, false, "unknown"),
  FG_BRIDGE_UNAVAILABLE: kind("UNAVAILABLE", 503, true, "not-applied"),
} satisfies Record<string, FgBridgeErrorKind>);

function kind(
  status: GrpcStatus,
  http: number,
  retryable: boolean,
  outcome: CallOutcome,
): FgBridgeErrorKind {
  return { status, http, retryable, outcome };
}

export type FgBridgeErrorCode = keyof typeof FG_BRIDGE_ERRORS;

export interface FgBridgeErrorOptions extends ErrorOptions {
  /** Where a provider or a function said it itself. @default that of the code */
  readonly status?: GrpcStatus;
  /** @default that of the code */
  readonly outcome?: CallOutcome;
  /** @default that of the code */
  readonly retryable?: boolean;
  /** Method of the provider that was called. */
  readonly method?: string;
  /** Key of the target, never its secrets. */
  readonly target?: string;
  /** Status line of an HTTP answer. */
  readonly httpStatus?: number;
  readonly limitBytes?: number;
  readonly actualBytes?: number;
}

/**
 * The one error class of this package. A caller that planned or applied something has to check `outcome` before it
 * repeats the call.
 */
export class FgBridgeError extends Error {
  override readonly name = "FgBridgeError";
  readonly code: FgBridgeErrorCode;
  readonly status: GrpcStatus;
  readonly retryable: boolean;
  readonly outcome: CallOutcome;
  readonly method: string | undefined;
  readonly target: string | undefined;
  readonly httpStatus: number | undefined;
  readonly limitBytes: number | undefined;
  readonly actualBytes: number | undefined;

  constructor(code: FgBridgeErrorCode, message: string, options: FgBridgeErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    const fixed = FG_BRIDGE_ERRORS[code];
    this.code = code;
    this.status = options.status ?? fixed.status;
    this.retryable = options.retryable ?? fixed.retryable;
    this.outcome = options.outcome ?? fixed.outcome;
    this.method = options.method;
    this.target = options.target;
    this.httpStatus = options.httpStatus;
    this.limitBytes = options.limitBytes;
    this.actualBytes = options.actualBytes;
  }

  /** Number of the gRPC status. */
  get grpcStatus(): number {
    return GRPC_STATUSES.indexOf(this.status);
  }

  /** What was thrown, as an error of this package; what is none becomes `FG_FUNCTION_ERROR`. */
  static from(thrown: unknown, outcome: CallOutcome = "unknown"): FgBridgeError {
    if (thrown instanceof FgBridgeError) return thrown;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return new FgBridgeError("FG_FUNCTION_ERROR", reason, { cause: thrown, outcome });
  }
}

/** Whether a thrown value is an `FgBridgeError` with one of the given codes. */
export function isFgBridgeError(
  thrown: unknown,
  ...codes: readonly FgBridgeErrorCode[]
): thrown is FgBridgeError {
  return thrown instanceof FgBridgeError && (codes.length === 0 || codes.includes(thrown.code));
}
