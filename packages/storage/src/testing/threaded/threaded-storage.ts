import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { extname } from "node:path";
import { BroadcastChannel, Worker } from "node:worker_threads";
import { createMemoryStorage } from "../../engine/memory.ts";
import { StorageError } from "../../errors.ts";
import type { Resource } from "../../resource.ts";
import type { StorageBackend } from "../../types.ts";
import { DelegatingStorage } from "../delegate.ts";
import type { ThreadedAnswer, ThreadedCall, ThreadedMethod } from "./protocol.ts";

/** Starts a thread with a store in memory, which clients in all threads reach by the name. */
export async function startThreadedHost(name: string): Promise<AsyncDisposable> {
  const entry = new URL(`./host${extname(import.meta.url)}`, import.meta.url);
  const worker = new Worker(entry, { workerData: { name } });
  await once(worker, "message");
  return { [Symbol.asyncDispose]: async () => void (await worker.terminate()) };
}

/** Options of {@link createThreadedStorage}. */
interface ThreadedStorageOptions {
  /** Of the host. */
  readonly name: string;
  /** One 32-bit integer: how often the store is still unavailable when it is opened. */
  readonly unavailable?: SharedArrayBuffer;
  /** What it says then. @default STORAGE_INCONSISTENT */
  readonly code?: ConstructorParameters<typeof StorageError>[0];
}

/** A client of the store that a thread of this process hosts; reads, writes and batches only. */
export function createThreadedStorage(options: ThreadedStorageOptions): StorageBackend {
  const { name, unavailable, code = "STORAGE_INCONSISTENT" } = options;
  if (unavailable !== undefined) {
    const left = Atomics.sub(new Int32Array(unavailable), 0, 1);
    if (left > 0) throw new StorageError(code, "the store is unavailable");
  }
  return new ThreadedStorage(name);
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: StorageError) => void;
}

class ThreadedStorage extends DelegatingStorage {
  readonly #channel: BroadcastChannel;
  readonly #client = randomUUID();
  readonly #pending = new Map<number, Pending>();
  #ids = 0;

  constructor(name: string) {
    // What is not passed on is not part of the tests that this is for.
    super(createMemoryStorage());
    this.#channel = new BroadcastChannel(name);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- typed that way by Node.js only
    this.#channel.onmessage = (event: unknown) => {
      const { data } = event as { data: ThreadedCall | ThreadedAnswer };
      if (data.kind === "call" || data.client !== this.#client) return;
      const pending = this.#pending.get(data.id);
      this.#pending.delete(data.id);
      if (data.kind === "result") pending?.resolve(data.result);
      else pending?.reject(new StorageError(data.code, data.message, { details: data.details }));
    };
  }

  override async read(...args: Parameters<StorageBackend["read"]>): Promise<Resource> {
    const [consistency, id] = args;
    return (await this.#call("read", consistency, id)) as Resource;
  }

  override async writeCAS(...args: Parameters<StorageBackend["writeCAS"]>): Promise<Resource> {
    const [resource, { guards } = {}] = args;
    return (await this.#call("writeCAS", resource, { guards })) as Resource;
  }

  override async deleteCAS(...args: Parameters<StorageBackend["deleteCAS"]>): Promise<void> {
    const [id, version, { guards } = {}] = args;
    await this.#call("deleteCAS", id, version, { guards });
  }

  override async batch(
    ...args: Parameters<StorageBackend["batch"]>
  ): Promise<readonly (Resource | undefined)[]> {
    const [operations, { guards } = {}] = args;
    const results = await this.#call("batch", operations, { guards });
    return results as readonly (Resource | undefined)[];
  }

  override async close(): Promise<void> {
    this.#channel.close();
    await this.inner.close();
  }

  #call(method: ThreadedMethod, ...args: readonly unknown[]): Promise<unknown> {
    this.#ids += 1;
    const id = this.#ids;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      const call: ThreadedCall = { kind: "call", client: this.#client, id, method, args };
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#channel.postMessage(call);
    });
  }
}
