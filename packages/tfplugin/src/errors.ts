/** gRPC status names, as far as errors of this package use them. */
export type TfpluginStatus =
  | "CANCELLED"
  | "UNKNOWN"
  | "INVALID_ARGUMENT"
  | "DEADLINE_EXCEEDED"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "UNIMPLEMENTED"
  | "INTERNAL"
  | "UNAVAILABLE"
  | "DATA_LOSS";

/**
 * Every way in which this package itself fails. `status` is the gRPC status under which the error crosses a wire;
 * `retryable` says that what was asked for did not happen and may succeed later without a change by the caller.
 * What a provider says in its diagnostics is no error of this package.
 */
export const TFPLUGIN_ERRORS = {
  TFPLUGIN_OPTIONS_INVALID: { status: "INVALID_ARGUMENT", retryable: false },

  // Starting and ending a provider process.
  TFPLUGIN_PROGRAM_NOT_FOUND: { status: "NOT_FOUND", retryable: false },
  TFPLUGIN_START_TIMEOUT: { status: "DEADLINE_EXCEEDED", retryable: true },
  TFPLUGIN_START_EXITED: { status: "FAILED_PRECONDITION", retryable: false },
  TFPLUGIN_HANDSHAKE_INVALID: { status: "FAILED_PRECONDITION", retryable: false },
  TFPLUGIN_PROTOCOL_UNSUPPORTED: { status: "FAILED_PRECONDITION", retryable: false },
  TFPLUGIN_CERTIFICATE_MISSING: { status: "FAILED_PRECONDITION", retryable: false },
  TFPLUGIN_CERTIFICATE_INVALID: { status: "FAILED_PRECONDITION", retryable: false },
  TFPLUGIN_CONNECT_FAILED: { status: "UNAVAILABLE", retryable: false },
  TFPLUGIN_UNHEALTHY: { status: "UNAVAILABLE", retryable: true },
  TFPLUGIN_REATTACH_INVALID: { status: "INVALID_ARGUMENT", retryable: false },

  TFPLUGIN_NOT_LAUNCHED: { status: "FAILED_PRECONDITION", retryable: false },
  TFPLUGIN_POOL_FULL: { status: "RESOURCE_EXHAUSTED", retryable: true },

  // Installing providers.
  TFPLUGIN_CLI_CONFIG_INVALID: { status: "INVALID_ARGUMENT", retryable: false },
  TFPLUGIN_PROVIDER_UNKNOWN: { status: "NOT_FOUND", retryable: false },
  TFPLUGIN_VERSION_UNAVAILABLE: { status: "NOT_FOUND", retryable: false },
  TFPLUGIN_PLATFORM_UNAVAILABLE: { status: "NOT_FOUND", retryable: false },
  TFPLUGIN_LOCK_CONFLICT: { status: "FAILED_PRECONDITION", retryable: false },
  TFPLUGIN_CHECKSUM_MISMATCH: { status: "DATA_LOSS", retryable: false },
  TFPLUGIN_SIGNATURE_INVALID: { status: "DATA_LOSS", retryable: false },
  TFPLUGIN_PACKAGE_INVALID: { status: "FAILED_PRECONDITION", retryable: false },
  TFPLUGIN_REGISTRY_UNAVAILABLE: { status: "UNAVAILABLE", retryable: true },
  TFPLUGIN_REGISTRY_UNAUTHORIZED: { status: "PERMISSION_DENIED", retryable: false },
  TFPLUGIN_REGISTRY_INVALID: { status: "FAILED_PRECONDITION", retryable: false },
  TFPLUGIN_DOWNLOAD_TOO_LARGE: { status: "RESOURCE_EXHAUSTED", retryable: false },

  // Calls over a transport.
  TFPLUGIN_CLOSED: { status: "UNAVAILABLE", retryable: false },
  TFPLUGIN_PROCESS_ENDED: { status: "UNAVAILABLE", retryable: true },
  TFPLUGIN_PROCESS_CRASHED: { status: "UNKNOWN", retryable: false },
  TFPLUGIN_CONNECTION_LOST: { status: "UNAVAILABLE", retryable: false },
  TFPLUGIN_MESSAGE_TOO_LARGE: { status: "RESOURCE_EXHAUSTED", retryable: false },
  TFPLUGIN_METHOD_UNIMPLEMENTED: { status: "UNIMPLEMENTED", retryable: false },
  TFPLUGIN_CALL_FAILED: { status: "UNKNOWN", retryable: false },

  // What a caller asks of a provider, and what the provider answers.
  TFPLUGIN_TYPE_UNKNOWN: { status: "NOT_FOUND", retryable: false },
  TFPLUGIN_SCHEMA_INVALID: { status: "FAILED_PRECONDITION", retryable: false },
  TFPLUGIN_VALUE_INVALID: { status: "INVALID_ARGUMENT", retryable: false },
  TFPLUGIN_REPLY_INVALID: { status: "INTERNAL", retryable: false },
  TFPLUGIN_DOWNGRADE_IMPOSSIBLE: { status: "UNKNOWN", retryable: false },
} as const satisfies Record<string, { status: TfpluginStatus; retryable: boolean }>;

/** The codes of {@link TfpluginError}. They are contract; message texts are not. */
export type TfpluginErrorCode = keyof typeof TFPLUGIN_ERRORS;

export interface TfpluginErrorOptions extends ErrorOptions {
  /** Of a call that changes something: `not-applied` when it provably did not begin. @default by `retryable` */
  readonly outcome?: "not-applied" | "unknown";
  /** Address or program of the provider that the error is about. */
  readonly provider?: string;
  /** Method of the protocol, or name of the type or function, that the error is about. */
  readonly subject?: string;
  /** What the server that refuses a version says of it. */
  readonly reason?: string;
}

/** The one error class of this package. */
export class TfpluginError extends Error {
  override readonly name = "TfpluginError";
  readonly code: TfpluginErrorCode;
  readonly status: TfpluginStatus;
  readonly retryable: boolean;
  readonly outcome: "not-applied" | "unknown";
  readonly provider: string | undefined;
  readonly subject: string | undefined;
  /** Why a server refuses a version, as it says itself, without our words. */
  readonly reason: string | undefined;

  constructor(code: TfpluginErrorCode, message: string, options: TfpluginErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    const { status, retryable } = TFPLUGIN_ERRORS[code];
    this.code = code;
    this.status = status;
    this.retryable = retryable;
    // What may be tried again did not happen.
    this.outcome = options.outcome ?? (retryable ? "not-applied" : "unknown");
    this.provider = options.provider;
    this.subject = options.subject;
    this.reason = options.reason;
  }

  /** Whether `error` is one of this package, with the given code if one is given. */
  static is(error: unknown, code?: TfpluginErrorCode): error is TfpluginError {
    return error instanceof TfpluginError && (code === undefined || error.code === code);
  }
}
