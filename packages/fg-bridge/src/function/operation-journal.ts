/** Names one operation on one object: who asked, in which run, under which id. */
export interface OperationKey {
  readonly caller: string;
  readonly sessionId: string;
  readonly callId: string;
}

/** What a delivery of an operation brings with it. */
export interface RequestDelivery {
  /** How often the operation was sent before. */
  readonly attempt: number;
  readonly epoch: bigint;
  /** Hash of the request; a check, never a key: equal creates send equal bytes. */
  readonly requestHash: string;
  /** When this delivery will have ended for sure, in milliseconds since the Unix epoch. */
  readonly untilMs: number;
}

/** How an operation ended: with a response, or with the text of an error. */
export interface StoredResult {
  readonly responseData: Uint8Array;
  readonly error: string;
}

/** What is known of an operation. */
export type OperationState =
  | { readonly kind: "done"; readonly result: StoredResult }
  | { readonly kind: "running" }
  /** It was begun, and its result is unknown. */
  | { readonly kind: "unresolved" };

/** What to do with a delivery. */
export type AttemptAdmission =
  | { readonly kind: "run" }
  | OperationState
  | { readonly kind: "refused"; readonly reason: "conflict" | "stale" | "given-up" };

/**
 * Records operations that change something, so that a repeated delivery is recognized.
 *
 * - At most one delivery of an operation gets `run`, unless the earlier one was given up before it began.
 * - A result is stored before it is answered.
 * - An outcome of `not-applied` is final: from then on this attempt and earlier ones are refused, even if they arrive
 *   later.
 */
export interface OperationJournal extends AsyncDisposable {
  /** Whether records outlive this instance of the function, and are shared with others. */
  readonly durable: boolean;
  begin(key: OperationKey, delivery: RequestDelivery): Promise<AttemptAdmission>;
  finish(key: OperationKey, attempt: number, result: StoredResult): Promise<void>;
  /** The delivery ended before the provider was asked. */
  giveUp(key: OperationKey, attempt: number): Promise<void>;
  /** What became of the operation; fences it off if it was not begun. */
  outcome(
    key: OperationKey,
    attempt: number,
  ): Promise<OperationState | { readonly kind: "not-applied" }>;
}

/** One attempt, as journals keep it. */
export interface AttemptRecord {
  readonly requestHash: string;
  readonly epoch: string;
  readonly untilMs: number;
}

/** How the clocks of two instances may differ. */
const SKEW_MS = 5000;

/** What a record without a result means. */
export function openState({ untilMs }: AttemptRecord, nowMs: number): OperationState {
  return nowMs <= untilMs + SKEW_MS ? { kind: "running" } : { kind: "unresolved" };
}

/** Whether a repeated delivery is one of the operation that is on record. */
export function checkDelivery(
  record: AttemptRecord,
  delivery: RequestDelivery,
): AttemptAdmission | undefined {
  if (delivery.epoch < BigInt(record.epoch)) return { kind: "refused", reason: "stale" };
  if (delivery.requestHash !== record.requestHash) return { kind: "refused", reason: "conflict" };
  return undefined;
}
