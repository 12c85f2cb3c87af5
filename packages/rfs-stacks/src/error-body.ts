import { RfsStacksError, type RfsStacksErrorCode } from "./errors.ts";
import type { RfsPortFailure } from "./port/rfs-stacks-port.ts";

// Codes that the service documents are used for what it uses them for. Where its code is not known, ours
// are from RF.1090xxxx, which it does not use: those of stacks from RF.10905001 on.

const CODES: Readonly<Record<RfsStacksErrorCode, string>> = {
  RFS_PARAMETER_MISSING: "RF.10011001",
  RFS_PARAMETER_UNKNOWN: "RF.10011002",
  RFS_PARAMETER_TYPE: "RF.10011038",
  RFS_PARAMETER_LENGTH: "RF.10011005",
  RFS_PARAMETER_PATTERN: "RF.10900102",
  RFS_PARAMETER_RANGE: "RF.10900101",
  RFS_PARAMETER_CONFLICT: "RF.10011028",
  RFS_NAME_INVALID: "RF.10011010",
  RFS_REQUEST_ID_INVALID: "RF.10011123",
  RFS_BODY_MISSING: "RF.10011032",
  RFS_BODY_INVALID: "RF.10011033",
  RFS_STACK_ID_MISMATCH: "RF.10011015",
  RFS_PLAN_ID_MISMATCH: "RF.10011018",
  RFS_TEMPLATE_ID_MISMATCH: "RF.10905001",
  RFS_NOTHING_TO_UPDATE: "RF.10011084",
  RFS_FILTER_INVALID: "RF.10011088",
  RFS_MARKER_INVALID: "RF.10900105",
  RFS_TEMPLATE_INVALID: "RF.10905002",
  RFS_VARIABLES_INVALID: "RF.10905003",
  RFS_ADDRESS_REFUSED: "RF.10905004",
  RFS_NOT_OFFERED: "RF.10905005",
  RFS_UNAUTHENTICATED: "RF.10012001",
  RFS_FORBIDDEN: "RF.10012507",
  RFS_STACK_BUSY: "RF.10012519",
  RFS_STACK_STATUS: "RF.10905006",
  RFS_PLAN_STATUS: "RF.10905007",
  RFS_STACK_PROTECTED: "RF.10905008",
  RFS_LIMIT_REACHED: "RF.10905009",
  RFS_STACK_NOT_FOUND: "RF.10013001",
  RFS_PLAN_NOT_FOUND: "RF.10013002",
  RFS_STACK_TEMPLATE_NOT_FOUND: "RF.10013023",
  RFS_DEPLOYMENT_NOT_FOUND: "RF.10905010",
  RFS_TEMPLATE_NOT_FOUND: "RF.10905011",
  RFS_STACK_EXISTS: "RF.10013502",
  RFS_PLAN_EXISTS: "RF.10013501",
  RFS_TEMPLATE_EXISTS: "RF.10905012",
  RFS_PRICES_NOT_OFFERED: "RF.10905013",
  RFS_STACK_SET_ID_MISMATCH: "RF.10905014",
  RFS_TARGET_INVALID: "RF.10905015",
  RFS_STACK_SET_BUSY: "RF.10905016",
  RFS_STACK_SET_NOT_EMPTY: "RF.10905017",
  RFS_STACK_SET_NOT_FOUND: "RF.10905018",
  RFS_STACK_INSTANCE_NOT_FOUND: "RF.10905019",
  RFS_STACK_SET_OPERATION_NOT_FOUND: "RF.10905020",
  RFS_STACK_SET_EXISTS: "RF.10905021",
};

/** By status, for failures of the server behind the port. */
const STATUS_CODES: Readonly<Record<number, string>> = {
  400: "RF.10900108",
  401: "RF.10012001",
  403: "RF.10012507",
  404: "RF.10900303",
  409: "RF.10013503",
  413: "RF.10900106",
  422: "RF.10900108",
  429: "RF.10014001",
};

/** A failure as it goes over the wire. */
interface FailureAnswer {
  readonly status: number;
  readonly body: { readonly error_code: string; readonly error_msg: string };
  readonly retryAfterMs?: number | undefined;
}

/** The answer to a failure. Clients know no statuses but those that the service documents, so others become the next of these. */
export function failureAnswer(
  error: unknown,
  failureOf: (error: unknown) => RfsPortFailure,
): FailureAnswer {
  if (error instanceof RfsStacksError) {
    return {
      status: error.httpStatus,
      body: { error_code: CODES[error.code], error_msg: error.message },
    };
  }
  const { status, detail, code, retryAfterMs } = failureOf(error);
  if (code !== undefined) return failureAnswer(new RfsStacksError(code, detail), failureOf);
  if (status >= 500) {
    return { status, body: { error_code: "RF.10010001", error_msg: "internal error" } };
  }
  return {
    status: status === 422 ? 400 : status,
    body: { error_code: STATUS_CODES[status] ?? "RF.10900108", error_msg: detail },
    retryAfterMs,
  };
}
