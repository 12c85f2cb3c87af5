/**
 * What is fixed for an error code: one row of a package's error table. Codes are contract, texts are not.
 *
 * @example
 * const SHELF_ERRORS = Object.freeze({
 *   SHELF_FULL: { summary: "the shelf has no room left", retryable: true, grpcStatus: 8, httpStatus: 507 },
 * } satisfies Record<string, ErrorKind>);
 */
export interface ErrorKind {
  /** One sentence without a period; the message of an error that has no more specific one. */
  readonly summary: string;
  /** Whether the same call may succeed later without a change of its arguments. */
  readonly retryable: boolean;
  /** Number of the gRPC status that carries the code. */
  readonly grpcStatus?: number;
  readonly httpStatus?: number;
}

/**
 * What is known about a failed call that changes something: `not-applied` proves that it had no effect and may be
 * repeated; `unknown` does not.
 */
export type CallOutcome = "not-applied" | "unknown";
