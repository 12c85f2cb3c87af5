import type { StorageErrorCode, StorageErrorDetails } from "../../errors.ts";

/** Methods that a store in another thread answers. */
export type ThreadedMethod = "read" | "writeCAS" | "deleteCAS" | "batch" | "list";

/** A call, to whoever hosts the store. */
export interface ThreadedCall {
  readonly kind: "call";
  readonly client: string;
  readonly id: number;
  readonly method: ThreadedMethod;
  readonly args: readonly unknown[];
}

/** Its answer, to the client that asked. */
export type ThreadedAnswer = { readonly client: string; readonly id: number } & (
  | { readonly kind: "result"; readonly result: unknown }
  | {
      readonly kind: "error";
      readonly code: StorageErrorCode;
      readonly message: string;
      readonly details: StorageErrorDetails;
    }
);
