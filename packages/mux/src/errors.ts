import type { CallOutcome } from "@stackwright/base/error-kind";

/** gRPC status names, as far as errors of this package use them. */
export type MuxStatus =
  | "UNKNOWN"
  | "INVALID_ARGUMENT"
  | "DEADLINE_EXCEEDED"
  | "NOT_FOUND"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "UNIMPLEMENTED"
  | "INTERNAL"
  | "UNAVAILABLE";

/**
 * Every way in which this package itself fails. `status` is the gRPC status under which the error
 * crosses a wire; `retryable` says that the call did not happen and may succeed later. Errors of
 * the servers behind a mux are not in this table: they pass through as they are.
 */
export const MUX_ERRORS = {
  MUX_NO_SERVERS: { status: "INVALID_ARGUMENT", retryable: false },
  MUX_OPTIONS_INVALID: { status: "INVALID_ARGUMENT", retryable: false },
  MUX_TABLE_INVALID: { status: "INVALID_ARGUMENT", retryable: false },
  MUX_SCHEMA_WITHOUT_TABLE: { status: "INVALID_ARGUMENT", retryable: false },
  MUX_TABLE_STALE: { status: "FAILED_PRECONDITION", retryable: false },
  MUX_SCHEMA_INVALID: { status: "FAILED_PRECONDITION", retryable: false },
  MUX_SCHEMA_CONFLICT: { status: "FAILED_PRECONDITION", retryable: false },
  MUX_SCHEMA_UNAVAILABLE: { status: "UNAVAILABLE", retryable: true },
  MUX_PARAMETERIZE_AMBIGUOUS: { status: "FAILED_PRECONDITION", retryable: false },
  MUX_PARAMETERS_REFUSED: { status: "INVALID_ARGUMENT", retryable: false },
  MUX_SCHEMA_VERSION: { status: "INVALID_ARGUMENT", retryable: false },
  MUX_URN_INVALID: { status: "INVALID_ARGUMENT", retryable: false },
  MUX_PROVIDER_UNKNOWN: { status: "NOT_FOUND", retryable: false },
  MUX_TOKEN_UNKNOWN: { status: "NOT_FOUND", retryable: false },
  MUX_NOT_LISTABLE: { status: "UNIMPLEMENTED", retryable: false },
  MUX_UNIMPLEMENTED: { status: "UNIMPLEMENTED", retryable: false },
  MUX_CONFIG_MISMATCH: { status: "FAILED_PRECONDITION", retryable: false },
  MUX_DIFF_MISMATCH: { status: "UNKNOWN", retryable: false },
  MUX_MAPPING_AMBIGUOUS: { status: "UNKNOWN", retryable: false },
  MUX_SERVER_CRASHED: { status: "INTERNAL", retryable: false },
  MUX_SERVER_UNAVAILABLE: { status: "UNAVAILABLE", retryable: true },
  MUX_SERVER_OVERLOADED: { status: "RESOURCE_EXHAUSTED", retryable: true },
  MUX_SERVER_TIMEOUT: { status: "DEADLINE_EXCEEDED", retryable: false },
  MUX_CLOSED: { status: "UNAVAILABLE", retryable: false },
  MUX_ENGINE_UNREACHABLE: { status: "UNAVAILABLE", retryable: true },
  MUX_ATTACH_INVALID: { status: "INVALID_ARGUMENT", retryable: false },
  MUX_ATTACH_FAILED: { status: "FAILED_PRECONDITION", retryable: false },
  MUX_PROCESS_NOT_FOUND: { status: "NOT_FOUND", retryable: false },
  MUX_PROCESS_START_TIMEOUT: { status: "DEADLINE_EXCEEDED", retryable: true },
  MUX_PROCESS_PORT_INVALID: { status: "FAILED_PRECONDITION", retryable: false },
  MUX_PROCESS_HANDSHAKE_FAILED: { status: "FAILED_PRECONDITION", retryable: false },
  MUX_PROCESS_ENDED: { status: "UNAVAILABLE", retryable: true },
  MUX_PROCESS_CRASHED: { status: "UNKNOWN", retryable: false },
} as const satisfies Record<string, { status: MuxStatus; retryable: boolean }>;

export type MuxErrorCode = keyof typeof MUX_ERRORS;

export interface MuxErrorOptions extends ErrorOptions {
  /** Name of the server that the error is about. */
  readonly server?: string;
  /** Type, function or conversion key that the error is about. */
  readonly token?: string;
  /** Of a call that changes something: `not-applied` when it surely did not happen. @default "unknown" */
  readonly outcome?: CallOutcome;
}

/** An error of the mux itself. Codes are contract, texts are not. */
export class MuxError extends Error {
  override readonly name = "MuxError";
  readonly code: MuxErrorCode;
  readonly status: MuxStatus;
  readonly retryable: boolean;
  readonly server: string | undefined;
  readonly token: string | undefined;
  readonly outcome: CallOutcome;

  constructor(code: MuxErrorCode, message: string, options: MuxErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.status = MUX_ERRORS[code].status;
    this.retryable = MUX_ERRORS[code].retryable;
    this.server = options.server;
    this.token = options.token;
    // What may be tried again did not happen.
    this.outcome = options.outcome ?? (this.retryable ? "not-applied" : "unknown");
  }
}
