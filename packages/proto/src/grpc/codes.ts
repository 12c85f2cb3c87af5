/**
 * The status codes of gRPC. `retryable` says that the same call may succeed after a pause and that
 * the server most likely did not act on it; whether it may be repeated is up to the method.
 */
export const RPC_CODES = {
  CANCELLED: { status: 1, retryable: false },
  UNKNOWN: { status: 2, retryable: false },
  INVALID_ARGUMENT: { status: 3, retryable: false },
  DEADLINE_EXCEEDED: { status: 4, retryable: false },
  NOT_FOUND: { status: 5, retryable: false },
  ALREADY_EXISTS: { status: 6, retryable: false },
  PERMISSION_DENIED: { status: 7, retryable: false },
  RESOURCE_EXHAUSTED: { status: 8, retryable: false },
  FAILED_PRECONDITION: { status: 9, retryable: false },
  ABORTED: { status: 10, retryable: false },
  OUT_OF_RANGE: { status: 11, retryable: false },
  UNIMPLEMENTED: { status: 12, retryable: false },
  INTERNAL: { status: 13, retryable: false },
  UNAVAILABLE: { status: 14, retryable: true },
  DATA_LOSS: { status: 15, retryable: false },
  UNAUTHENTICATED: { status: 16, retryable: false },
} as const;

/** A gRPC status other than OK, by name. */
export type RpcCode = keyof typeof RPC_CODES;

const CODE_BY_STATUS: ReadonlyMap<number, RpcCode> = new Map(
  (Object.keys(RPC_CODES) as RpcCode[]).map((code) => [RPC_CODES[code].status, code]),
);

/** The code of a status number. A number that gRPC does not define is UNKNOWN, as it says. */
export function rpcCodeOf(status: number): RpcCode {
  return CODE_BY_STATUS.get(status) ?? "UNKNOWN";
}
