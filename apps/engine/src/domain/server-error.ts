import type { ErrorKind } from "@stackwright/base/error-kind";

function kind(httpStatus: number, summary: string, retryable = false): ErrorKind {
  return { httpStatus, summary, retryable };
}

/** Every code of a problem document below `/api/v1`. Codes are contract, texts are not. */
export const SERVER_ERRORS = Object.freeze({
  invalid_request: kind(400, "the request is not valid"),
  unauthenticated: kind(401, "the request has no valid credential"),
  forbidden: kind(403, "the credential does not allow this"),
  not_found: kind(404, "the resource does not exist"),
  conflict: kind(409, "the resource is in a state that does not allow this"),
  name_taken: kind(409, "the name is in use"),
  in_progress: kind(409, "a request with this idempotency key is in progress", true),
  answer_unavailable: kind(409, "the request with this idempotency key has no answer to repeat"),
  illegal_transition: kind(409, "the phase of the run does not allow this"),
  command_run: kind(409, "the run was made by a command, which alone changes it"),
  run_ended: kind(409, "the run has ended"),
  stack_locked: kind(409, "the stack is locked"),
  last_administrator: kind(409, "the account would have no administrator"),
  not_empty: kind(409, "the account, the project or the stack has something in it"),
  deletion_protected: kind(409, "the stack is protected from deletion"),
  self_approval: kind(409, "the author of a run cannot approve it"),
  state_conflict: kind(409, "the state is another one than the client began with"),
  engine_state: kind(409, "the engine has the state of the stack"),
  kept_state: kind(409, "a terraform or tofu command has the state of the stack"),
  client_keys: kind(409, "the keys of the stacks of the project are kept from the server"),
  plan_changed: kind(409, "the run has another plan than the one that was approved"),
  plan_stale: kind(409, "the state was changed since the plan was made"),
  claim_lost: kind(409, "another worker has the claim"),
  approval_expired: kind(410, "the time for the approval of the plan is over"),
  quarantined: kind(410, "the version is in quarantine"),
  changed: kind(412, "the resource changed since it was read"),
  too_large: kind(413, "the request body is too large"),
  unsupported_media_type: kind(415, "the content type is not supported"),
  bundle_invalid: kind(422, "the archive of the configuration is not valid"),
  hook_failed: kind(422, "a hook of the run failed"),
  state_invalid: kind(422, "the state is not valid"),
  unprocessable: kind(422, "the request cannot be processed"),
  idempotency_mismatch: kind(422, "the idempotency key was used for another request"),
  precondition_required: kind(428, "the request needs the header If-Match"),
  rate_limited: kind(429, "too many requests", true),
  queue_full: kind(429, "the queue of the stack is full", true),
  internal: kind(500, "the server failed"),
  key_unavailable: kind(500, "the key of the stack is not available to this server"),
  upstream_failed: kind(502, "another server failed", true),
  store_unavailable: kind(503, "the store does not answer", true),
  quota_exceeded: kind(507, "the quota of the account is exceeded"),
  draining: kind(503, "the server is stopping", true),
} satisfies Record<string, ErrorKind>);

export type ServerErrorCode = keyof typeof SERVER_ERRORS;

export function isServerErrorCode(code: string): code is ServerErrorCode {
  return Object.hasOwn(SERVER_ERRORS, code);
}

/** One thing that is wrong with a request. */
export interface FieldError {
  /** JSON pointer into the request. */
  readonly pointer: string;
  readonly detail: string;
}

interface ServerErrorOptions {
  readonly cause?: unknown;
  readonly errors?: readonly FieldError[];
  /** When a repetition makes sense. @default one second */
  readonly retryAfterMs?: number;
}

/** The error of everything that `/api/v1` does. */
export class ServerError extends Error {
  override readonly name = "ServerError";
  readonly code: ServerErrorCode;
  readonly errors: readonly FieldError[];
  readonly retryAfterMs: number;

  constructor(code: ServerErrorCode, message?: string, options: ServerErrorOptions = {}) {
    super(message ?? SERVER_ERRORS[code].summary, { cause: options.cause });
    this.code = code;
    this.errors = options.errors ?? [];
    this.retryAfterMs = options.retryAfterMs ?? 1_000;
  }

  get retryable(): boolean {
    return SERVER_ERRORS[this.code].retryable;
  }
}

export function isServerError(
  error: unknown,
  ...codes: readonly ServerErrorCode[]
): error is ServerError {
  return error instanceof ServerError && (codes.length === 0 || codes.includes(error.code));
}
