import type { Readable } from "node:stream";
import { receiveFrom } from "./inbound.ts";
import type { MessageQueue } from "./message-queue.ts";
import type { ServerCall } from "./server-call.ts";

/**
 * The requests of a call, for its handler, to be iterated once. Ends when the client has sent all
 * of them; throws the reason of the call's signal when it aborts. What arrives after `return` is
 * dropped.
 *
 * A client in Node that cancels in the middle ends its stream before it resets it, in this order
 * on the wire. So the end is held back for a moment, in which the reset nearly always arrives too;
 * a handler that must not take a part for the whole needs a mark of the end in its messages.
 */
export class RequestStream<T> implements AsyncIterableIterator<T, undefined> {
  readonly #call: ServerCall;
  readonly #inbound: MessageQueue;

  constructor(call: ServerCall, stream: Readable, bufferBytes: number) {
    this.#call = call;
    this.#inbound = receiveFrom(stream, bufferBytes);
    stream.on("end", () => {
      setImmediate(() => setImmediate(() => this.#inbound.finish({})));
    });
    const { signal } = call;
    const onAbort = (): void => this.#inbound.abandon({ error: signal.reason });
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    const message = await this.#inbound.take();
    if (message === undefined) return { done: true, value: undefined };
    return { done: false, value: this.#call.decode(message) as T };
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#inbound.abandon({});
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
