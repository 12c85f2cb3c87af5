export { decodeBase64, encodeBase64 } from "./envelope/base64.ts";
export type {
  AdapterInfo,
  Feature,
  OperationOutcome,
  ResponseReference,
} from "./envelope/extensions.ts";
export { FEATURES } from "./envelope/extensions.ts";
export { cleanForeignText, formatGrpcError, parseGrpcError } from "./envelope/grpc-text.ts";
export type { MethodFacts } from "./envelope/methods.ts";
export { METHODS, methodByName, methodByPath, OUTCOME_METHOD } from "./envelope/methods.ts";
export type { EnvelopeLimits, EnvelopeRequest, RequestExtensions } from "./envelope/request.ts";
export { ENVELOPE_LIMITS, encodeRequest, parseRequest } from "./envelope/request.ts";
export type { EnvelopeResponse } from "./envelope/response.ts";
export { encodeResponse, parseResponse } from "./envelope/response.ts";
export type {
  FgBridgeErrorCode,
  FgBridgeErrorKind,
  FgBridgeErrorOptions,
  GrpcStatus,
  Outcome,
} from "./errors.ts";
export { FG_BRIDGE_ERRORS, FgBridgeError, GRPC_STATUSES, isFgBridgeError } from "./errors.ts";
