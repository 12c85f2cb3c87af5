import type { MessageQueue } from "./message-queue.ts";

/** What is needed of a call to read its requests. */
interface RequestedCall {
  readonly signal: AbortSignal;
  decode(request: Buffer): unknown;
}

/**
 * The requests of a call, for its handler, to be iterated once. Ends when the client has sent all
 * of them; throws the reason of the call's signal when it aborts. What arrives after `return` is
 * dropped.
 */
export class RequestStream<T> implements AsyncIterableIterator<T, undefined> {
  readonly #call: RequestedCall;
  readonly #inbound: MessageQueue;

  constructor(call: RequestedCall, inbound: MessageQueue) {
    this.#call = call;
    this.#inbound = inbound;
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

/**
 * Ends the requests of a stream. A client in Node that cancels in the middle ends its stream before it resets it, in this order on the
 * wire. So the end is held back for a moment, in which the reset nearly always arrives too; a handler that must not take a part
 * for the whole needs a mark of the end in its messages.
 */
export function finishSoon(inbound: MessageQueue): void {
  setImmediate(() => setImmediate(() => inbound.finish({})));
}
