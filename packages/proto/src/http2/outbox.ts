import type { Duplex } from "node:stream";

/** Up to here copying pieces together costs less than handing them over one by one. */
const JOINED_BYTES = 64 * 1024;

/**
 * What a connection has to write. All that one turn of the event loop gives is written at once, after it: so a hundred
 * calls that begin together are one write, and one record of TLS.
 *
 * Invariant: `unsentBytes` is what was pushed and is not yet with the system.
 */
export class Outbox {
  readonly #socket: Duplex;
  readonly #onProgress: (() => void) | undefined;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #unsent = 0;
  #onWritten: (() => void)[] = [];
  #isScheduled = false;
  #isClosed = false;

  /** @param onProgress called whenever the system has taken something */
  constructor(socket: Duplex, onProgress?: () => void) {
    this.#socket = socket;
    this.#onProgress = onProgress;
  }

  get unsentBytes(): number {
    return this.#unsent;
  }

  /** `onWritten` is called when the bytes are with the system; not at all when the connection ends before. */
  push(bytes: Buffer, onWritten?: () => void): void {
    if (this.#isClosed) return;
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    this.#unsent += bytes.length;
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
    const written = this.#writtenOf(this.#bytes, this.#onWritten);
    const pieces = this.#bytes <= JOINED_BYTES ? [joined(this.#pieces)] : runsOf(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    this.#onWritten = [];
    const last = pieces.length - 1;
    if (last > 0) this.#socket.cork();
    for (const [index, piece] of pieces.entries()) {
      this.#socket.write(piece, index === last ? written : undefined);
    }
    if (last > 0) this.#socket.uncork();
  };

  #writtenOf(bytes: number, callbacks: readonly (() => void)[]): (error?: Error | null) => void {
    return (error) => {
      if (error !== undefined && error !== null) return;
      this.#unsent -= bytes;
      for (const callback of callbacks) callback();
      this.#onProgress?.();
    };
  }
}

/** Joins neighbours up to {@link JOINED_BYTES}: a piece that waits by itself takes many times the memory of a short frame. */
function runsOf(pieces: readonly Buffer[]): Buffer[] {
  const runs: Buffer[] = [];
  let run: Buffer[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    if (run.length > 0 && bytes + piece.length > JOINED_BYTES) {
      runs.push(joined(run));
      run = [];
      bytes = 0;
    }
    run.push(piece);
    bytes += piece.length;
  }
  runs.push(joined(run));
  return runs;
}

function joined(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
}
