import type { ErrorKind } from "@stackwright/base/error-kind";

/** Every error code of this package. Codes are contract, message texts are not. */
export const TFSTATE_ERRORS = Object.freeze({
  TFSTATE_FILE_INVALID: {
    summary: "the file is not a Terraform state of version 4",
    retryable: false,
    grpcStatus: 3,
    httpStatus: 400,
  },
} satisfies Record<string, ErrorKind>);

/** Code of a {@link TfstateError}. */
export type TfstateErrorCode = keyof typeof TFSTATE_ERRORS;

/** The one error class of this package. The message quotes no value of the file: values may be secrets. */
export class TfstateError extends Error {
  override readonly name = "TfstateError";
  readonly code: TfstateErrorCode;
  readonly retryable: boolean;

  constructor(code: TfstateErrorCode, message: string = TFSTATE_ERRORS[code].summary) {
    super(message);
    this.code = code;
    this.retryable = TFSTATE_ERRORS[code].retryable;
  }
}
