import { Worker } from "node:worker_threads";
import type { BareWrite } from "./bare-worker.ts";

/** Sends writes to the bare worker; resolves with the new version. */
export class BareClient implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #pending = new Map<number, (version: string | undefined) => void>();
  #ids = 0;

  constructor(path: string) {
    this.#worker = new Worker(new URL("./bare-worker.ts", import.meta.url), {
      workerData: { path },
    });
    this.#worker.on("message", ({ id, version }: { id: number; version: string | undefined }) => {
      this.#pending.get(id)?.(version);
      this.#pending.delete(id);
    });
  }

  write(key: string, expected: string, body: Uint8Array): Promise<string | undefined> {
    this.#ids += 1;
    const message: BareWrite = { id: this.#ids, key, expected, body };
    return new Promise((resolve) => {
      this.#pending.set(message.id, resolve);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#worker.postMessage(message);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
