import type { StorageError } from "../../errors.ts";
import { closedError } from "../closed-error.ts";
import type { WorkerCall, WorkerCalls, WorkerOptions } from "./protocol.ts";
import { openStoreCalls, toErrorMessage } from "./store-calls.ts";
import { type OpenedStore, type StoreClient, toStorageError } from "./store-client.ts";

/**
 * A store for reading in the thread that calls, without the start of another one. Calls wait for the disk, a page at a
 * time; each is done when it is made, so answers have the order of the calls.
 */
export class InlineClient implements StoreClient {
  onLost: ((error: StorageError) => void) | undefined;
  readonly #options: WorkerOptions;
  readonly #handlers: ReturnType<typeof openStoreCalls>["handlers"];
  #closed = false;

  private constructor(
    options: WorkerOptions,
    handlers: ReturnType<typeof openStoreCalls>["handlers"],
  ) {
    this.#options = options;
    this.#handlers = handlers;
  }

  /** Opens the store; throws a `StorageError` where it cannot be opened. */
  static open(options: WorkerOptions): OpenedStore {
    try {
      const { handlers, epoch, notices } = openStoreCalls(options);
      return { client: new InlineClient(options, handlers), epoch, notices };
    } catch (error) {
      throw toStorageError(toErrorMessage(error, options));
    }
  }

  async call<C extends WorkerCall>(
    call: C,
    argument: WorkerCalls[C]["argument"],
  ): Promise<WorkerCalls[C]["result"]> {
    if (this.#closed) throw closedError();
    try {
      return await this.#handlers[call](argument);
    } catch (error) {
      throw toStorageError(toErrorMessage(error, this.#options));
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    const closing = this.call("close", undefined);
    this.#closed = true;
    await closing;
  }
}
