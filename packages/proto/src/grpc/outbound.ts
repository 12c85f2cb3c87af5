import { costOf, type Messages } from "./service.ts";

/** Takes messages for the wire, and says of each when HTTP/2 flow control has let all of it pass. */
export interface MessageTarget {
  write(message: Buffer, onSent: () => void): unknown;
}

/**
 * Sends messages no faster than the peer takes them: while `bufferBytes` or
 * more are under way, the source is not asked for the next one. A message counts until HTTP/2 flow
 * control has let all of it pass.
 */
export class Outbound<T> {
  readonly #stream: MessageTarget;
  readonly #encode: (message: T) => Buffer;
  readonly #bufferBytes: number;
  #pendingBytes = 0;
  #isStopped = false;
  /** What waits for room, and what waits for the source or a stop. */
  #onRoom: (() => void) | undefined;
  #onStop: (() => void) | undefined;

  constructor(stream: MessageTarget, encode: (message: T) => Buffer, bufferBytes: number) {
    this.#stream = stream;
    this.#encode = encode;
    this.#bufferBytes = bufferBytes;
  }

  /**
   * Sends everything that `source` gives. True when it has ended; false when {@link stop} came
   * first. Then `return` of the source was called, without waiting for it: it may be in the
   * middle of something that does not end. Rejects with what the source throws.
   */
  async sendAll(source: Messages<T>): Promise<boolean> {
    const iterator =
      Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    // Whether the source has ended by itself, by an error included.
    let hasEnded = true;
    try {
      while (!this.#isStopped) {
        const result = await this.#unlessStopped(iterator.next());
        hasEnded = result?.done === true;
        if (result === undefined) break;
        if (result.done === true) return true;
        this.#send(this.#encode(result.value));
        while (this.#pendingBytes >= this.#bufferBytes && !this.#isStopped) await this.#room();
        hasEnded = true;
      }
      hasEnded = false;
      return false;
    } finally {
      if (!hasEnded) void abandonIterator(iterator);
    }
  }

  /** Nothing more is sent. */
  stop(): void {
    this.#isStopped = true;
    this.#onStop?.();
    this.#onRoom?.();
  }

  #send(message: Buffer): void {
    const cost = costOf(message);
    this.#pendingBytes += cost;
    this.#stream.write(message, () => {
      this.#pendingBytes -= cost;
      if (this.#pendingBytes < this.#bufferBytes) this.#onRoom?.();
    });
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = resolve;
    });
  }

  /** Like Promise.race with the stop, but leaves nothing behind on a promise that lives on. */
  #unlessStopped<R>(pending: R | PromiseLike<R>): Promise<R | undefined> {
    return new Promise((resolve, reject) => {
      this.#onStop = () => resolve(undefined);
      Promise.resolve(pending).then(resolve, reject);
    });
  }
}

/** Lets a source clean up. The call ignores the result. */
async function abandonIterator(
  iterator: AsyncIterator<unknown> | Iterator<unknown>,
): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The call has ended already, with its own outcome.
  }
}
