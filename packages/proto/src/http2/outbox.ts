import type { Duplex } from "node:stream";

/** Up to here copying pieces together costs less than handing them over one by one. */
const JOINED_BYTES = 64 * 1024;

/**
 * What a connection has to write. All that one turn of the event loop gives is written at once, after it: so a hundred
 * calls that begin together are one write, and one record of TLS.
 */
export class Outbox {
  readonly #socket: Duplex;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #onWritten: (() => void)[] = [];
  #isScheduled = false;
  #isClosed = false;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** `onWritten` is called when the bytes are with the system; not at all when the connection ends before. */
  push(bytes: Buffer, onWritten?: () => void): void {
    if (this.#isClosed) return;
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    if (onWritten !== undefined) this.#onWritten.push(onWritten);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }

  /** Writes what waits, and nothing after it. */
  close(): void {
    this.#flush();
    this.#isClosed = true;
  }

  readonly #flush = (): void => {
    this.#isScheduled = false;
    if (this.#isClosed || this.#pieces.length === 0) return;
    const pieces = this.#pieces;
    const isJoined = this.#bytes <= JOINED_BYTES;
    const onWritten = this.#onWritten;
    this.#pieces = [];
    this.#bytes = 0;
    const done = onWritten.length === 0 ? undefined : callAll(onWritten);
    if (done !== undefined) this.#onWritten = [];
    const [first] = pieces;
    if (pieces.length === 1 || isJoined) {
      this.#socket.write(pieces.length === 1 ? first : Buffer.concat(pieces), done);
      return;
    }
    this.#socket.cork();
    const last = pieces.length - 1;
    for (const [index, piece] of pieces.entries()) {
      this.#socket.write(piece, index === last ? done : undefined);
    }
    this.#socket.uncork();
  };
}

function callAll(callbacks: readonly (() => void)[]): (error?: Error | null) => void {
  return (error) => {
    if (error === undefined || error === null) for (const callback of callbacks) callback();
  };
}
