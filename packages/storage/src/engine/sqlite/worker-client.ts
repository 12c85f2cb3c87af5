import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { StorageError } from "../../errors.ts";
import { closedError } from "../closed-error.ts";
import type {
  AnswerMessage,
  CallMessage,
  WorkerCall,
  WorkerCalls,
  WorkerMessage,
  WorkerOptions,
} from "./protocol.ts";
import { type OpenedStore, type StoreClient, toStorageError } from "./store-client.ts";

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: StorageError) => void;
}

/** The calling side of the worker thread. */
export class WorkerClient implements StoreClient {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #lost: StorageError | undefined;

  /** Called once when the thread ends without having been asked to. */
  onLost: ((error: StorageError) => void) | undefined;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  /** Starts the thread and waits until it has opened the store. */
  static start(options: WorkerOptions): Promise<OpenedStore> {
    // The worker has the extension of this file: TypeScript in the workspace, JavaScript published.
    const entry = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(entry, { workerData: options, name: "stackwright-sqlite" });
    const client = new WorkerClient(worker);
    return new Promise<OpenedStore>((resolve, reject) => {
      const fail = (error: Error): void => {
        client.#lose(error);
        reject(StorageError.from(error, { outcome: "not-applied" }));
      };
      worker.once("error", fail);
      worker.once("exit", () => fail(new Error("the storage thread ended")));
      worker.on("message", (message: WorkerMessage) => {
        if (!("kind" in message)) {
          client.#settle(message);
        } else if (message.kind === "open") {
          resolve({ client, epoch: message.epoch, notices: message.notices });
        } else {
          reject(toStorageError(message.error));
        }
      });
    });
  }

  /** Asks the worker for something. Answers arrive in the order of the calls. */
  call<C extends WorkerCall>(
    call: C,
    argument: WorkerCalls[C]["argument"],
  ): Promise<WorkerCalls[C]["result"]> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    this.#lastId += 1;
    const id = this.#lastId;
    const message: CallMessage = [id, call, argument];
    return new Promise((resolve, reject) => {
      this.#pending.set(id, {
        resolve: (result) => resolve(result as WorkerCalls[C]["result"]),
        reject,
      });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#worker.postMessage(message);
    });
  }

  /** Requests of one turn; those that come while a group is committed are the next one. */
  gathered(): Promise<void> {
    return Promise.resolve();
  }

  /** Lets the worker finish what it was asked for, closes the store and ends the thread. */
  async close(): Promise<void> {
    if (this.#lost !== undefined) return;
    try {
      await this.call("close", undefined);
    } finally {
      this.#lost ??= closedError();
      this.#worker.removeAllListeners();
      await this.#worker.terminate();
    }
  }

  #settle([id, result, error]: AnswerMessage): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (error === undefined) pending?.resolve(result);
    else pending?.reject(toStorageError(error));
  }

  #lose(cause: Error): void {
    if (this.#lost !== undefined) return;
    const lost = new StorageError("STORAGE_INCONSISTENT", "the storage thread ended", {
      cause,
      // What was under way may have been committed.
      details: { outcome: "unknown" },
    });
    this.#lost = lost;
    for (const pending of this.#pending.values()) pending.reject(lost);
    this.#pending.clear();
    this.onLost?.(lost);
  }
}
