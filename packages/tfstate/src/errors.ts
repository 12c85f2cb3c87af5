import type { ErrorKind } from "@stackwright/base/error-kind";

/** Every error code of this package. Codes are contract, message texts are not. */
export const TFSTATE_ERRORS = Object.freeze({
  TFSTATE_FILE_INVALID: {
    summary: "the file is not a Terraform state of version 4",
    retryable: false,
    grpcStatus: 3,
    httpStatus: 400,
  },
  TFSTATE_STATE_ENCRYPTED: {
    summary: "the state is encrypted, and no configured method decrypts it",
    retryable: false,
    grpcStatus: 9,
    httpStatus: 409,
  },
  TFSTATE_STATE_NOT_ENCRYPTED: {
    summary: "the state is in the clear, and the configured encryption does not allow that",
    retryable: false,
    grpcStatus: 9,
    httpStatus: 409,
  },
  TFSTATE_ENCRYPTION_INVALID: {
    summary: "the encryption of states is configured wrongly",
    retryable: false,
    grpcStatus: 3,
    httpStatus: 400,
  },
  TFSTATE_ENCRYPTION_UNSUPPORTED: {
    summary: "only OpenTofu decrypts the state",
    retryable: false,
    grpcStatus: 12,
    httpStatus: 501,
  },
  TFSTATE_BACKEND_INVALID: {
    summary: "the backend configuration is invalid",
    retryable: false,
    grpcStatus: 3,
    httpStatus: 400,
  },
  TFSTATE_BACKEND_UNSUPPORTED: {
    summary: "the backend has no reader of its own",
    retryable: false,
    grpcStatus: 12,
    httpStatus: 501,
  },
  TFSTATE_BACKEND_LOCKED: {
    summary: "the state is locked",
    retryable: true,
    grpcStatus: 9,
    httpStatus: 409,
  },
  TFSTATE_BACKEND_UNAVAILABLE: {
    summary: "the backend is not available",
    retryable: true,
    grpcStatus: 14,
    httpStatus: 503,
  },
  TFSTATE_BACKEND_DIGEST: {
    summary: "the state does not agree with its recorded digest",
    retryable: true,
    grpcStatus: 15,
    httpStatus: 500,
  },
} satisfies Record<string, ErrorKind>);

/** Code of a {@link TfstateError}. */
export type TfstateErrorCode = keyof typeof TFSTATE_ERRORS;

/** The one error class of this package. The message quotes no value of a state: values may be secrets. */
export class TfstateError extends Error {
  override readonly name = "TfstateError";
  readonly code: TfstateErrorCode;
  readonly retryable: boolean;
  /** The record of the lock holder, where the backend has one; with `TFSTATE_BACKEND_LOCKED`. */
  readonly lock: string | undefined;

  constructor(
    code: TfstateErrorCode,
    message: string = TFSTATE_ERRORS[code].summary,
    options: { readonly cause?: unknown; readonly lock?: string | undefined } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = TFSTATE_ERRORS[code].retryable;
    this.lock = options.lock;
  }
}
