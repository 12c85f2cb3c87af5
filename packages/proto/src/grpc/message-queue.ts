import { deferred } from "@stackwright/base/deferred";
import { costOf } from "./service.ts";

interface Waiter {
  readonly resolve: (message: Buffer | undefined) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The messages of a stream that have arrived, to be taken one by one.
 *
 * Invariants: there are waiters only while the queue is empty; `onRoom` is called when a full queue has room again. What
 * fills it asks for nothing more while it {@link isFull}, so at most `bufferBytes` plus one message are held.
 */
export class MessageQueue {
  readonly #bufferBytes: number;
  readonly #onRoom: () => void;
  readonly #queue: Buffer[] = [];
  #queuedBytes = 0;
  readonly #waiters: Waiter[] = [];
  #outcome: { readonly error?: unknown } | undefined;

  constructor(bufferBytes: number, onRoom: () => void) {
    this.#bufferBytes = bufferBytes;
    this.#onRoom = onRoom;
  }

  get isFull(): boolean {
    return this.#queuedBytes >= this.#bufferBytes;
  }

  push(message: Buffer): void {
    if (this.#outcome !== undefined) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.resolve(message);
      return;
    }
    this.#queue.push(message);
    this.#queuedBytes += costOf(message);
  }

  /** The next message; undefined at the end. Rejects with what the stream failed with. */
  take(): Promise<Buffer | undefined> {
    const message = this.#queue.shift();
    if (message !== undefined) {
      const wasFull = this.isFull;
      this.#queuedBytes -= costOf(message);
      if (wasFull && !this.isFull) this.#onRoom();
      return Promise.resolve(message);
    }
    const { promise, resolve, reject } = deferred<Buffer | undefined>();
    if (this.#outcome === undefined) this.#waiters.push({ resolve, reject });
    else if ("error" in this.#outcome) reject(this.#outcome.error);
    else resolve(undefined);
    return promise;
  }

  /** No more messages come. Those that are here are still given out, and then the error, if any. */
  finish(outcome: { readonly error?: unknown }): void {
    this.#outcome ??= outcome;
    for (const { resolve, reject } of this.#waiters.splice(0)) {
      if ("error" in this.#outcome) reject(this.#outcome.error);
      else resolve(undefined);
    }
  }

  /** Ends at once: messages that are here are dropped. */
  abandon(outcome: { readonly error?: unknown }): void {
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.#outcome = undefined;
    this.finish(outcome);
  }
}
