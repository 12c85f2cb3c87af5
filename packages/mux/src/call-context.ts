import type { Metadata } from "@grpc/grpc-js";

/** What goes with a call: a mux hands it on to the servers. */
export interface CallContext {
  /** Gives the call up, on both sides. */
  readonly signal?: AbortSignal | undefined;
  /** Metadata that the caller sent. */
  readonly metadata?: Metadata | undefined;
  /** When the caller stops waiting. */
  readonly deadline?: Date | undefined;
}
