import { StorageError } from "../../errors.ts";
import type { ErrorMessage, WorkerCall, WorkerCalls } from "./protocol.ts";

/** The calling side of an open store. */
export interface StoreClient {
  /** Called once when the store is lost without having been closed. */
  onLost: ((error: StorageError) => void) | undefined;
  /** Asks for something. Answers arrive in the order of the calls. */
  call<C extends WorkerCall>(
    call: C,
    argument: WorkerCalls[C]["argument"],
  ): Promise<WorkerCalls[C]["result"]>;
  /** Resolves when the requests are there that come together with the one that was just made, so that they share a commit. */
  gathered(): Promise<void>;
  /** Lets what was asked for be finished, and closes the store. */
  close(): Promise<void>;
}

/** An open store and what was found in it. */
export interface OpenedStore {
  readonly client: StoreClient;
  readonly epoch: string;
  readonly notices: readonly string[];
}

/** The error of a call, as it was sent. */
export function toStorageError({ code, message, details }: ErrorMessage): StorageError {
  return new StorageError(code, message, { details });
}
