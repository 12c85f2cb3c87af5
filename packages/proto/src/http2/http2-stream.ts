import type { HeaderList } from "./header-block.ts";

/** What the peer sends on a stream. Nothing follows an end or a failure. */
export interface StreamListener {
  /** Leading headers, or those behind the body, with which it may end. Informational ones (1xx) are left out. */
  onHeaders(headers: HeaderList, isEnd: boolean): void;
  /** A piece of the body, to be given back to the peer's window with {@link Http2Stream.release} once it is consumed. */
  onData(data: Buffer, isEnd: boolean): void;
  onFailure(failure: StreamFailure): void;
}

export interface StreamFailure {
  /**
   * `unprocessed`: the peer did not act on the request. `reset`: it ended this one. `lost`: the connection has ended, what
   * became of the request is unknown.
   */
  readonly kind: "unprocessed" | "reset" | "lost";
  /** Of a stream that was reset. Source: RFC 9113, section 7. */
  readonly code?: number;
  readonly reason: Error;
}

/** Bytes of a body that wait for the peer's window, or headers behind them; and what is to be called when they are with the system. */
interface PendingPart {
  readonly kind: "body" | "headers";
  bytes: Buffer;
  readonly isEnd: boolean;
  readonly onSent: (() => void) | undefined;
}

/** What a connection does for its streams. */
interface StreamOwner {
  send(stream: Http2Stream): void;
  reset(stream: Http2Stream, code: number): void;
  update(stream: Http2Stream, bytes: number): void;
}

/**
 * One request and its answer, seen from either side.
 *
 * Invariants: `id` is zero until the request is sent, which `MAX_CONCURRENT_STREAMS` may delay; `pending` holds what the
 * peer's windows have not let pass, in order; `receiveWindow` is what the peer may still send by what it has heard.
 */
export class Http2Stream {
  id = 0;
  sendWindow = 0;
  receiveWindow: number;
  isLocalEnd = false;
  isClosed = false;
  readonly pending: PendingPart[] = [];
  readonly listener: StreamListener;
  readonly #owner: StreamOwner;
  readonly #updateBytes: number;
  #released = 0;

  constructor(owner: StreamOwner, windowBytes: number, listener: StreamListener) {
    this.#owner = owner;
    this.receiveWindow = windowBytes;
    this.#updateBytes = Math.ceil(windowBytes / 2);
    this.listener = listener;
  }

  /** Sends bytes of the body, as far and as soon as the peer's windows let them pass. Without effect after the end. */
  write(bytes: Buffer, isEnd: boolean, onSent?: () => void): void {
    if (this.isClosed || this.isLocalEnd) return;
    this.isLocalEnd = isEnd;
    this.pending.push({ kind: "body", bytes, isEnd, onSent });
    this.#owner.send(this);
  }

  /** Sends a block of headers behind what was written before. Without effect after the end. */
  writeHeaders(block: Buffer, isEnd: boolean): void {
    if (this.isClosed || this.isLocalEnd) return;
    this.isLocalEnd = isEnd;
    this.pending.push({ kind: "headers", bytes: block, isEnd, onSent: undefined });
    this.#owner.send(this);
  }

  /** Ends the stream on both sides at once. The listener is not called any more. */
  reset(code: number): void {
    if (!this.isClosed) this.#owner.reset(this, code);
  }

  /** Lets the peer send so many bytes without waiting, which something large that has begun is known to need. */
  ensure(bytes: number): void {
    const missing = bytes - this.receiveWindow - this.#released;
    if (missing > 0) this.release(Math.max(missing, this.#updateBytes));
  }

  /** Gives bytes that were consumed back to the peer's window. */
  release(bytes: number): void {
    this.#released += bytes;
    if (this.isClosed || this.#released < this.#updateBytes) return;
    this.receiveWindow += this.#released;
    this.#owner.update(this, this.#released);
    this.#released = 0;
  }
}
