import type { ErrorKind } from "@stackwright/base/error-kind";

function kind(httpStatus: number, summary: string): ErrorKind {
  return { httpStatus, summary, retryable: false };
}

/** Every code of a {@link TfeError}. Codes are contract, texts are not. */
export const TFE_ERRORS = Object.freeze({
  TFE_INVALID_REQUEST: kind(400, "the request is not valid"),
  TFE_UNAUTHORIZED: kind(401, "unauthorized"),
  TFE_FORBIDDEN: kind(403, "the token does not allow this"),
  TFE_NOT_FOUND: kind(404, "not found"),
  TFE_CONFLICT: kind(409, "conflict"),
  TFE_TOO_LARGE: kind(413, "the request body is too large"),
  TFE_UNPROCESSABLE: kind(422, "the request cannot be processed"),
} satisfies Record<string, ErrorKind>);

export type TfeErrorCode = keyof typeof TFE_ERRORS;

/** A request that this API refuses. */
export class TfeError extends Error {
  override readonly name = "TfeError";
  readonly code: TfeErrorCode;

  constructor(code: TfeErrorCode, message?: string, options?: { readonly cause?: unknown }) {
    super(message ?? TFE_ERRORS[code].summary, options);
    this.code = code;
  }

  get httpStatus(): number {
    return TFE_ERRORS[this.code].httpStatus ?? 500;
  }
}
