import type { StorageErrorCode } from "../errors.ts";
import type { UnversionedType } from "../resource.ts";

/** The calls of a store that are observed. */
export type ObservedOperation =
  | "read"
  | "write"
  | "delete"
  | "batch"
  | "list"
  | "watch"
  | "snapshot"
  | "restore";

/** How a call of a store ended. */
export interface ObservedCall {
  readonly operation: ObservedOperation;
  /** Of a batch the type of its first operation; absent where a call is about all types. */
  readonly type: UnversionedType | undefined;
  readonly durationMs: number;
  /** `canceled` when the caller gave it up; absent when it succeeded. */
  readonly failure: StorageErrorCode | "canceled" | undefined;
}

/** Is informed of what happens at a store. Its methods do not throw. */
export interface StorageObserver {
  ended(call: ObservedCall): void;
  /** A watch was opened; the returned function is called once when it is closed or has failed. */
  watchOpened(): (failure: StorageErrorCode | undefined) => void;
  /** A watch has delivered an event. */
  delivered(): void;
  /** How long after its acknowledgement a write of this instance came to a watch of this instance; a sample. */
  lagged(durationMs: number): void;
}
