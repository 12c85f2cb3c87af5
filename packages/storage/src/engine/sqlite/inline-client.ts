import type { StorageError } from "../../errors.ts";
import { closedError } from "../closed-error.ts";
import type { WorkerCall, WorkerCalls, WorkerOptions } from "./protocol.ts";
import { openStoreCalls, toErrorMessage } from "./store-calls.ts";
import { type OpenedStore, type StoreClient, toStorageError } from "./store-client.ts";

/** So many calls are answered before timers, signals and what other processes send are seen to. */
const CALLS_PER_TURN = 64;

/**
 * A store in the thread that calls, without the start of another one. Calls wait for the disk, a page or a group of writes
 * at a time; each is done when it is made, so answers have the order of the calls.
 */
export class InlineClient implements StoreClient {
  onLost: ((error: StorageError) => void) | undefined;
  readonly #options: WorkerOptions;
  readonly #handlers: ReturnType<typeof openStoreCalls>["handlers"];
  #closed = false;
  #callsOfTurn = 0;
  /** Ends with the turn of the event loop; there while no more calls are answered in this one. */
  #endOfTurn: Promise<void> | undefined;

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
      const result = await this.#handlers[call](argument);
      await this.#takeTurn();
      return result;
    } catch (error) {
      throw toStorageError(toErrorMessage(error, this.#options));
    }
  }

  // A caller that reads until something changes would otherwise keep the change itself from happening: answers that are there
  // at once let nothing run but what waits for them.
  async #takeTurn(): Promise<void> {
    this.#callsOfTurn += 1;
    if (this.#callsOfTurn >= CALLS_PER_TURN) {
      this.#endOfTurn ??= this.#turn();
    }
    await this.#endOfTurn;
  }

  async #turn(): Promise<void> {
    await nextTurn();
    this.#callsOfTurn = 0;
    this.#endOfTurn = undefined;
  }

  /** Nothing can come while a group is committed: what this turn of the event loop brings is waited for before. */
  gathered(): Promise<void> {
    return nextTurn();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    const closing = this.call("close", undefined);
    this.#closed = true;
    await closing;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
