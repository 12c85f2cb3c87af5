import type { ErrorKind } from "@stackwright/base/error-kind";

function kind(
  summary: string,
  grpcStatus: number,
  httpStatus: number,
  retryable = false,
): Required<ErrorKind> {
  return { summary, grpcStatus, httpStatus, retryable };
}

/** Every error code of this package. Codes are contract, message texts are not. */
export const ENGINE_ERRORS = Object.freeze({
  ENGINE_CONFIG_CHANGED: kind(
    "the configuration is not the one that the plan was made from",
    9,
    409,
  ),
  ENGINE_CONFIG_INVALID: kind(
    "the configuration, or what was asked for with it, has mistakes",
    3,
    400,
  ),
  ENGINE_FENCE_LOST: kind("the stack went to another worker", 10, 409),
  ENGINE_INPUT_UNAVAILABLE: kind("the outputs of another stack cannot be read", 9, 409),
  ENGINE_KEY_UNAVAILABLE: kind("the encryption key for secrets is not available", 9, 500),
  ENGINE_PLAN_INVALID: kind(
    "the plan is invalid or was written by an incompatible version",
    3,
    400,
  ),
  ENGINE_PLAN_STALE: kind("the state is not the one that the plan was made from", 9, 409),
  ENGINE_PROVIDER_CHANGED: kind(
    "a provider is not the one that the plan was made with, though its version has the same number",
    9,
    409,
  ),
  ENGINE_PROVIDER_UNAVAILABLE: kind("a required provider is not available", 9, 503, true),
  ENGINE_PROVISIONERS_REFUSED: kind("the plan runs provisioners, which are not allowed", 9, 403),
  ENGINE_SECRET_EXPOSED: kind("a secret value would leave the engine unencrypted", 13, 500),
  ENGINE_STATE_CORRUPT: kind("what is stored for the stack cannot be understood", 15, 500),
  ENGINE_STATE_ADOPTED: kind("another stack has adopted this Terraform state", 9, 409),
  ENGINE_STATE_FILE_INVALID: kind("the file is not a Terraform state of version 4", 3, 400),
  ENGINE_STATE_INVARIANT: kind("the recorded state breaks a rule, or would do so", 9, 409),
  ENGINE_STATE_NOT_ADOPTED: kind(
    "the configuration has a Terraform state that was not adopted",
    9,
    409,
  ),
  ENGINE_STATE_NOT_EMPTY: kind("the stack has objects already, or is in use", 9, 409),
  ENGINE_STATE_TRANSITION: kind("the object is not in a phase that allows the change", 9, 409),
  ENGINE_SURGERY_INVALID: kind("the operation on the state cannot be done", 3, 400),
  ENGINE_WALK_ORDER: kind("internal error: a value was read before it was computed", 13, 500),
} satisfies Record<string, Required<ErrorKind>>);

/** Code of an {@link EngineError}. */
export type EngineErrorCode = keyof typeof ENGINE_ERRORS;

/** Facts about an error, as far as its code has them. */
export interface EngineErrorDetails {
  /** Addresses of the objects or nodes in question. */
  readonly addresses?: readonly string[];
  /** One sentence for each thing that is wrong. */
  readonly problems?: readonly string[];
  /** What the reader can do about it, where the caller that passes the error on knows that. */
  readonly advice?: string;
}

/** Options of the {@link EngineError} constructor. */
export interface EngineErrorOptions {
  readonly details?: EngineErrorDetails;
  readonly cause?: unknown;
}

/** The one error class of this package; `code` says what happened. */
export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly code: EngineErrorCode;
  readonly retryable: boolean;
  readonly details: EngineErrorDetails;

  constructor(code: EngineErrorCode, message?: string, options: EngineErrorOptions = {}) {
    super(
      message ?? ENGINE_ERRORS[code].summary,
      "cause" in options ? { cause: options.cause } : undefined,
    );
    this.code = code;
    this.retryable = ENGINE_ERRORS[code].retryable;
    this.details = options.details ?? {};
  }
}

/** Whether a thrown value is an `EngineError` with one of the given codes. */
export function isEngineError(
  thrown: unknown,
  ...codes: readonly EngineErrorCode[]
): thrown is EngineError {
  return thrown instanceof EngineError && (codes.length === 0 || codes.includes(thrown.code));
}
