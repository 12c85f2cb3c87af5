import type { Readable } from "node:stream";
import { deferred } from "@stackwright/base/deferred";
import { costOf } from "./service.ts";

interface Waiter {
  readonly resolve: (message: Buffer | undefined) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The messages that arrive on a grpc-js stream, to be taken one by one.
 *
 * Invariants: there are waiters only while the queue is empty, and a further message is asked for
 * only while the queue costs less than `bufferBytes`; so at most that plus one message are held.
 * grpc-js asks for a message when its stream's `_read` is called, and leaves unread ones to HTTP/2
 * flow control. That stream would call it sixteen messages ahead, of any size, hence the gate.
 */
export class Inbound {
  readonly #bufferBytes: number;
  readonly #startRead: () => void;
  readonly #queue: Buffer[] = [];
  #queuedBytes = 0;
  #isReadOwed = false;
  readonly #waiters: Waiter[] = [];
  #outcome: { readonly error?: unknown } | undefined;

  constructor(stream: Readable, bufferBytes: number) {
    this.#bufferBytes = bufferBytes;
    const read = stream._read.bind(stream);
    this.#startRead = () => read(1);
    stream._read = () => {
      if (this.#queuedBytes < bufferBytes) this.#startRead();
      else this.#isReadOwed = true;
    };
    stream.on("data", (message: Buffer) => this.#receive(message));
  }

  /** The next message; undefined at the end. Rejects with what the stream failed with. */
  take(): Promise<Buffer | undefined> {
    const message = this.#queue.shift();
    if (message !== undefined) {
      this.#queuedBytes -= costOf(message);
      if (this.#isReadOwed && this.#queuedBytes < this.#bufferBytes) {
        this.#isReadOwed = false;
        this.#startRead();
      }
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

  #receive(message: Buffer): void {
    if (this.#outcome !== undefined) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.resolve(message);
      return;
    }
    this.#queue.push(message);
    this.#queuedBytes += costOf(message);
  }
}
