export type { AuditEvent, AuditSink } from "./audit.ts";
export type { FunctionCallLimits } from "./caller/call-limiter.ts";
export type { CallerOptions } from "./caller/caller-options.ts";
export type { BreakerOptions, BreakerState } from "./caller/circuit-breaker.ts";
export type { TransportOptions } from "./caller/function-caller.ts";
export { FunctionCaller } from "./caller/function-caller.ts";
export type { ProbeResult } from "./caller/probe-provider.ts";
export { probeProvider } from "./caller/probe-provider.ts";
export type { RetryBudgetOptions } from "./caller/retry-budget.ts";
export { decodeBase64, encodeBase64 } from "./envelope/base64.ts";
export type {
  AdapterInfo,
  Feature,
  OperationOutcome,
  ResponseReference,
} from "./envelope/extensions.ts";
export { FEATURES } from "./envelope/extensions.ts";
export { formatGrpcError, parseGrpcError, sanitizeRemoteText } from "./envelope/grpc-text.ts";
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
} from "./errors.ts";
export { FG_BRIDGE_ERRORS, FgBridgeError, GRPC_STATUSES, isFgBridgeError } from "./errors.ts";
export type { AddressGuardOptions, Resolver } from "./target/address-guard.ts";
export { AddressGuard } from "./target/address-guard.ts";
export type { AsyncResultReader, HttpResultsOptions } from "./target/async-results.ts";
export { createHttpResults } from "./target/async-results.ts";
export { requireFunctionUrn } from "./target/function-urn.ts";
export type { FunctionGraphEndpoint } from "./target/functiongraph-target.ts";
export type { FunctionCallTimeouts, TlsOptions } from "./target/http-exchange.ts";
export { FunctionHttpClient } from "./target/http-exchange.ts";
export type { FunctionTarget, InvokeCall } from "./target/target.ts";
export type { TargetScope, TargetTableOptions } from "./target/target-table.ts";
export { FunctionTargetTable } from "./target/target-table.ts";
export type { UrlCredentials, UrlTargetOptions } from "./target/url-target.ts";
