import { StorageError } from "../../errors.ts";

/** The largest message that the services of this package take; what is larger comes in pieces. */
export const MAX_REQUEST_BYTES = 4 * 1024 * 1024;

/** Requests up to this size are sent whole. */
export const WHOLE_REQUEST_BYTES = 3 * 1024 * 1024;

/** Bytes of one piece. */
const PIECE_BYTES = 512 * 1024;

/** Cuts what is too large for one message. Shares the bytes. */
export function* cutRequest(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    yield bytes.subarray(at, at + PIECE_BYTES);
  }
}

/** Puts pieces together again. `STORAGE_TOO_LARGE` as soon as there are more bytes than `limit`. */
export class Pieces {
  readonly #limit: number;
  #pieces: Uint8Array[] = [];
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  get size(): number {
    return this.#size;
  }

  add(piece: Uint8Array): void {
    this.#size += piece.length;
    if (this.#size > this.#limit) {
      const details = { field: "request", limit: this.#limit, actual: this.#size };
      throw new StorageError(
        "STORAGE_TOO_LARGE",
        `the request is larger than ${this.#limit} bytes, the limit`,
        { details },
      );
    }
    this.#pieces.push(piece);
  }

  /** All bytes; what is added from now on belongs to the next. */
  take(): Uint8Array {
    const bytes = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#size = 0;
    return bytes;
  }
}

/** Lets so many tasks hold something at a time; further ones wait. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves when there is a slot; disposing releases it. Rejects with the signal's reason. */
  async take(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        const next = this.#waiting.shift();
        if (next === undefined) this.#free += 1;
        else next();
      },
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(signal.reason as Error);
      };
      this.#waiting.push(begin);
      signal.addEventListener("abort", leave, { once: true });
    });
  }
}
