import type { ErrorKind } from "@stackwright/base/error-kind";

function kind(httpStatus: number, summary: string): ErrorKind {
  return { httpStatus, summary, retryable: false };
}

/** Every code of an {@link RfsStacksError}. Codes are contract, texts are not. */
export const RFS_STACKS_ERRORS = Object.freeze({
  RFS_PARAMETER_MISSING: kind(400, "a required parameter is missing"),
  RFS_PARAMETER_UNKNOWN: kind(400, "a parameter is not known"),
  RFS_PARAMETER_TYPE: kind(400, "a parameter has another type"),
  RFS_PARAMETER_LENGTH: kind(400, "a parameter is too long or too short"),
  RFS_PARAMETER_PATTERN: kind(400, "a parameter has characters that are not allowed"),
  RFS_PARAMETER_RANGE: kind(400, "a parameter is out of range"),
  RFS_PARAMETER_CONFLICT: kind(400, "parameters contradict one another"),
  RFS_NAME_INVALID: kind(400, "a name is not valid"),
  RFS_REQUEST_ID_INVALID: kind(400, "the Client-Request-Id is not valid"),
  RFS_BODY_MISSING: kind(400, "the request has no body"),
  RFS_BODY_INVALID: kind(400, "the request body is not JSON"),
  RFS_STACK_ID_MISMATCH: kind(400, "the id is of another stack"),
  RFS_PLAN_ID_MISMATCH: kind(400, "the id is of another execution plan"),
  RFS_TEMPLATE_ID_MISMATCH: kind(400, "the id is of another template"),
  RFS_STACK_SET_ID_MISMATCH: kind(400, "the id is of another stack set"),
  RFS_TARGET_INVALID: kind(400, "the targets do not fit the instances of the stack set"),
  RFS_NOTHING_TO_UPDATE: kind(400, "the request changes nothing"),
  RFS_FILTER_INVALID: kind(400, "the filter is not valid"),
  RFS_MARKER_INVALID: kind(400, "the marker is not of this list"),
  RFS_TEMPLATE_INVALID: kind(400, "the template is not valid"),
  RFS_VARIABLES_INVALID: kind(400, "the variables are not valid"),
  RFS_ADDRESS_REFUSED: kind(400, "the address cannot be read"),
  RFS_NOT_OFFERED: kind(400, "this server does not offer this"),
  RFS_UNAUTHENTICATED: kind(401, "authentication failed"),
  RFS_FORBIDDEN: kind(403, "the credential does not allow this"),
  RFS_STACK_BUSY: kind(403, "the stack is in progress"),
  RFS_STACK_STATUS: kind(403, "the status of the stack does not allow this"),
  RFS_PLAN_STATUS: kind(403, "the status of the execution plan does not allow this"),
  RFS_STACK_PROTECTED: kind(403, "the stack is protected from deletion"),
  RFS_STACK_SET_BUSY: kind(403, "an operation of the stack set is in progress"),
  RFS_STACK_SET_NOT_EMPTY: kind(403, "the stack set has instances"),
  RFS_LIMIT_REACHED: kind(403, "there are as many as may be"),
  RFS_STACK_NOT_FOUND: kind(404, "the stack does not exist"),
  RFS_PLAN_NOT_FOUND: kind(404, "the execution plan does not exist"),
  RFS_STACK_TEMPLATE_NOT_FOUND: kind(404, "the stack has no template"),
  RFS_DEPLOYMENT_NOT_FOUND: kind(404, "the deployment does not exist"),
  RFS_TEMPLATE_NOT_FOUND: kind(404, "the template does not exist"),
  RFS_STACK_SET_NOT_FOUND: kind(404, "the stack set does not exist"),
  RFS_STACK_INSTANCE_NOT_FOUND: kind(404, "the stack instance does not exist"),
  RFS_STACK_SET_OPERATION_NOT_FOUND: kind(404, "the stack set operation does not exist"),
  RFS_STACK_EXISTS: kind(409, "the name of the stack is in use"),
  RFS_PLAN_EXISTS: kind(409, "the name of the execution plan is in use"),
  RFS_TEMPLATE_EXISTS: kind(409, "the name of the template is in use"),
  RFS_STACK_SET_EXISTS: kind(409, "the name of the stack set is in use"),
  RFS_PRICES_NOT_OFFERED: kind(501, "this server estimates no prices"),
} satisfies Record<string, ErrorKind>);

export type RfsStacksErrorCode = keyof typeof RFS_STACKS_ERRORS;

/** A request that this API refuses. */
export class RfsStacksError extends Error {
  override readonly name = "RfsStacksError";
  readonly code: RfsStacksErrorCode;

  constructor(code: RfsStacksErrorCode, message?: string, options?: { readonly cause?: unknown }) {
    super(message ?? RFS_STACKS_ERRORS[code].summary, options);
    this.code = code;
  }

  get httpStatus(): number {
    return RFS_STACKS_ERRORS[this.code].httpStatus ?? 500;
  }
}
