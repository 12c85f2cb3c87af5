import type { ErrorKind } from "@stackwright/base/error-kind";
import type { Problem, ProblemCode } from "./gen/api.ts";

function kind(summary: string, retryable = false): ErrorKind {
  return { summary, retryable };
}

/** Codes of failures for which no problem document exists. Those of documents are `ProblemCode`. */
export const CLIENT_ERRORS = Object.freeze({
  CLIENT_UNREACHABLE: kind("the server cannot be reached", true),
  CLIENT_TIMEOUT: kind("the server did not answer in time", true),
  CLIENT_UNAVAILABLE: kind("the server, or a proxy in front of it, is not available", true),
  CLIENT_UNEXPECTED_ANSWER: kind("the answer does not follow the API"),
  CLIENT_INVALID_ARGUMENT: kind("an option or a parameter is not valid"),
} satisfies Record<string, ErrorKind>);

export type ClientErrorCode = ProblemCode | keyof typeof CLIENT_ERRORS;

interface ClientErrorDetails {
  /** HTTP status of the answer; absent where there is none. */
  readonly status?: number;
  /** The problem document of the server. */
  readonly problem?: Problem;
  /** Whether the same call may succeed later. @default by the code */
  readonly retryable?: boolean;
  /** How long the server asks to wait before another attempt, in milliseconds. */
  readonly retryAfterMs?: number;
}

/**
 * The error of every call. `code` is the code of the server's problem document, or one of `CLIENT_ERRORS`; a newer server may
 * send further ones. `retryable` is true where the same call may succeed later.
 */
export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly code: ClientErrorCode;
  readonly retryable: boolean;
  readonly status: number | undefined;
  readonly problem: Problem | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ClientErrorCode,
    message: string,
    { status, problem, retryable, retryAfterMs, cause }: ClientErrorDetails & ErrorOptions = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.status = status;
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
    this.retryable = retryable ?? (isOwnCode(code) && CLIENT_ERRORS[code].retryable);
  }
}

function isOwnCode(code: ClientErrorCode): code is keyof typeof CLIENT_ERRORS {
  return Object.hasOwn(CLIENT_ERRORS, code);
}

/** Whether an error is one of this package, with one of some codes where codes are given. */
export function isClientError(
  error: unknown,
  ...codes: readonly ClientErrorCode[]
): error is ClientError {
  return error instanceof ClientError && (codes.length === 0 || codes.includes(error.code));
}
