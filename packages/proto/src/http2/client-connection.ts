import type { Duplex } from "node:stream";
import {
  HTTP2_ERRORS,
  type Http2ErrorName,
  Http2ProtocolError,
  http2ErrorName,
} from "./error-codes.ts";
import {
  CLIENT_PREFACE,
  DEFAULT_FRAME_BYTES,
  DEFAULT_WINDOW_BYTES,
  FLAG,
  FRAME,
  goAwayFrame,
  LARGEST_WINDOW_BYTES,
  pingAckFrame,
  resetFrame,
  SETTING,
  settingsAckFrame,
  settingsFrame,
  windowUpdateFrame,
} from "./frame.ts";
import { FrameReader } from "./frame-reader.ts";
import type { HeaderList } from "./header-block.ts";
import { HeaderBlocks } from "./header-blocks.ts";
import { Http2Stream, type StreamFailure, type StreamListener } from "./http2-stream.ts";
import { Outbox } from "./outbox.ts";
import {
  Answers,
  bodyOf,
  ConnectionReceipts,
  checkPing,
  readSettings,
  resetCode,
  takeFromWindow,
  windowIncrement,
  wrongSize,
} from "./peer-frames.ts";
import { SendWindows } from "./send-windows.ts";

export interface ClientConnectionOptions {
  /** The connection owns it from here on. */
  readonly socket: Duplex;
  /** The event after which bytes may have reached the peer. */
  readonly connectedBy: "connect" | "secureConnect";
  /** The largest block of headers that is taken. */
  readonly headerBytes: number;
  /** How many requests may wait for the peer's limit of concurrent ones. */
  readonly maxWaiting: number;
  /** The peer has spoken HTTP/2. */
  readonly onReady: () => void;
  /** No further request can be made here; those under way continue. Called once, at the latest with the end. */
  readonly onDraining: (reason: Error) => void;
  /** The connection has ended; called once, after what was under way has failed. */
  readonly onClosed: () => void;
  /** @default 1 */
  readonly firstStreamId?: number;
}

/** How long the last frame may take to leave. */
const LINGER_MS = 1000;

/**
 * The client's side of an HTTP/2 connection: frames, streams, both levels of flow control. It knows nothing of what the
 * requests are about. Made for few, long-lived connections to a peer nearby, and for small messages: headers of a kind
 * are encoded once, frames of a turn leave together, and a stream is one object without events.
 *
 * Invariants:
 * - ids of streams rise in the order in which their headers are sent;
 * - a stream is in `#streams` from its first frame until both sides have ended or one reset it, in `#waiting` before;
 * - every listener gets one end or one failure, unless its own side resets the stream.
 *
 * Source: RFC 9113; RFC 7541 with a dynamic table of no bytes in both directions.
 */
export class ClientConnection {
  readonly #options: ClientConnectionOptions;
  readonly #outbox: Outbox;
  readonly #reader: FrameReader;
  readonly #headers: HeaderBlocks;
  readonly #streams = new Map<number, Http2Stream>();
  readonly #windows: SendWindows;
  readonly #answers: Answers;
  readonly #receipts: ConnectionReceipts;
  readonly #waiting = new Map<Http2Stream, Buffer>();
  #nextId: number;
  #peerStreams = Number.POSITIVE_INFINITY;
  #isReady = false;
  #hasConnected = false;
  /** Why no further stream begins here. */
  #draining: Error | undefined;
  #closed: Error | undefined;

  constructor(options: ClientConnectionOptions) {
    const { socket, headerBytes } = options;
    this.#options = options;
    this.#nextId = options.firstStreamId ?? 1;
    this.#outbox = new Outbox(socket);
    this.#windows = new SendWindows(this.#outbox);
    this.#answers = new Answers(this.#outbox);
    this.#receipts = new ConnectionReceipts(this.#outbox);
    this.#headers = new HeaderBlocks(headerBytes, 0);
    this.#reader = new FrameReader(DEFAULT_FRAME_BYTES, this.#onFrame);
    socket.once(options.connectedBy, () => {
      this.#hasConnected = true;
    });
    socket.on("data", this.#onBytes);
    socket.on("error", (error: Error) => this.#fail(error));
    socket.on("end", this.#onEnd);
    socket.on("close", this.#onEnd);
    this.#outbox.push(CLIENT_PREFACE);
    this.#outbox.push(
      settingsFrame([
        [SETTING.HEADER_TABLE_SIZE, 0],
        [SETTING.ENABLE_PUSH, 0],
        [SETTING.MAX_HEADER_LIST_SIZE, headerBytes],
      ]),
    );
    this.#receipts.open();
  }

  get isDraining(): boolean {
    return this.#draining !== undefined;
  }

  /**
   * Begins a request with a block of headers, which is sent as soon as the peer takes one more. A failure is reported to the
   * listener, at once where the connection takes no more.
   */
  open(block: Buffer, listener: StreamListener): Http2Stream {
    const { maxWaiting } = this.#options;
    const stream = new Http2Stream(this, DEFAULT_WINDOW_BYTES, listener);
    if (this.#draining !== undefined) {
      this.#refuse(stream, this.#draining);
    } else if (this.#streams.size < this.#peerStreams) {
      this.#begin(stream, block);
    } else if (this.#waiting.size < maxWaiting) {
      this.#waiting.set(stream, block);
    } else {
      const text = `${maxWaiting} requests wait for the server, which takes ${this.#peerStreams} at a time`;
      this.#refuse(stream, new Error(text));
    }
    return stream;
  }

  /** Sends what the windows let pass. For {@link Http2Stream}. */
  send(stream: Http2Stream): void {
    if (stream.id !== 0) this.#windows.send(stream);
  }

  /** For {@link Http2Stream}. */
  reset(stream: Http2Stream, code: number): void {
    if (stream.id !== 0) this.#outbox.push(resetFrame(stream.id, code));
    this.#remove(stream);
  }

  /** For {@link Http2Stream}. */
  update(stream: Http2Stream, bytes: number): void {
    this.#outbox.push(windowUpdateFrame(stream.id, bytes));
  }

  /** Ends the connection. Requests under way fail with the reason. */
  close(reason: Error): void {
    this.#fail(reason, "NO_ERROR");
  }

  #begin(stream: Http2Stream, block: Buffer): void {
    stream.id = this.#nextId;
    this.#windows.begin(stream);
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    this.#windows.sendHeaders(stream, block, false);
    this.#windows.send(stream);
    if (this.#nextId > LARGEST_WINDOW_BYTES) this.#drain(new Error("the connection is used up"));
  }

  readonly #onEnd = (): void => this.#fail(new Error("the connection was closed"));

  readonly #onBytes = (chunk: Buffer): void => {
    if (this.#closed !== undefined) return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (!(error instanceof Http2ProtocolError)) throw error;
      const text = this.#isReady
        ? `the server does not keep to HTTP/2: ${error.message}`
        : "what answers does not speak HTTP/2";
      this.#fail(new Error(text, { cause: error }), error.code);
    }
  };

  readonly #onFrame = (type: number, flags: number, id: number, payload: Buffer): void => {
    if (this.#closed !== undefined) return;
    if (!this.#isReady) {
      if (type !== FRAME.SETTINGS || (flags & FLAG.ACK) !== 0) {
        throw new Http2ProtocolError("PROTOCOL_ERROR", "the first frame has no settings");
      }
      this.#isReady = true;
      this.#takeSettings(flags, id, payload);
      this.#options.onReady();
      return;
    }
    const block = this.#headers.take(type, flags, id, payload);
    if (block !== undefined) {
      this.#takeHeaders(id, block.headers, block.isEnd);
      return;
    }
    switch (type) {
      case FRAME.DATA:
        this.#takeData(flags, id, payload);
        break;
      case FRAME.RST_STREAM:
        this.#takeReset(id, payload);
        break;
      case FRAME.SETTINGS:
        this.#takeSettings(flags, id, payload);
        break;
      case FRAME.PUSH_PROMISE:
        throw new Http2ProtocolError("PROTOCOL_ERROR", "a push that was declined");
      case FRAME.PING:
        this.#takePing(flags, id, payload);
        break;
      case FRAME.GOAWAY:
        this.#takeGoAway(id, payload);
        break;
      case FRAME.WINDOW_UPDATE:
        this.#takeWindowUpdate(id, payload);
        break;
      default:
      // Headers that are not complete yet, priorities, and frames of extensions.
    }
  };

  #takeHeaders(id: number, headers: HeaderList, isEnd: boolean): void {
    const stream = this.#streamOf(id);
    if (stream === undefined) return;
    const [status] = headers;
    const isInformational = status?.[0] === ":status" && status[1].startsWith("1");
    if (isInformational && !isEnd) return;
    if (isEnd) this.#endByPeer(stream);
    stream.listener.onHeaders(headers, isEnd);
  }

  #takeData(flags: number, id: number, payload: Buffer): void {
    this.#receipts.take(payload.length);
    const stream = this.#streamOf(id);
    const data = bodyOf(flags, payload);
    if (stream === undefined) return;
    takeFromWindow(stream, payload, data);
    const isEnd = (flags & FLAG.END_STREAM) !== 0;
    if (isEnd) this.#endByPeer(stream);
    stream.listener.onData(data, isEnd);
  }

  /** The peer has said everything. What it has not read by then it does not want. */
  #endByPeer(stream: Http2Stream): void {
    if (!stream.isLocalEnd || stream.pending.length > 0) {
      this.#outbox.push(resetFrame(stream.id, HTTP2_ERRORS.CANCEL));
    }
    this.#remove(stream);
  }

  #takeReset(id: number, payload: Buffer): void {
    const stream = this.#streamOf(id);
    const code = resetCode(payload);
    if (stream === undefined) return;
    this.#remove(stream);
    const name = http2ErrorName(code);
    const reason = new Error(`the server ended the call (${name})`);
    stream.listener.onFailure(
      name === "REFUSED_STREAM" ? { kind: "unprocessed", reason } : { kind: "reset", code, reason },
    );
  }

  #takeSettings(flags: number, id: number, payload: Buffer): void {
    const isAsked = readSettings(flags, id, payload, (setting, value) => {
      if (setting === SETTING.MAX_CONCURRENT_STREAMS) this.#peerStreams = value;
      else this.#windows.takeSetting(setting, value);
    });
    if (!isAsked) return;
    this.#windows.applySettings(this.#streams.values());
    this.#answers.send(settingsAckFrame());
    this.#beginWaiting();
  }

  #takePing(flags: number, id: number, payload: Buffer): void {
    const isAsked = checkPing(flags, id, payload);
    if (isAsked) this.#answers.send(pingAckFrame(payload));
  }

  #takeGoAway(id: number, payload: Buffer): void {
    if (id !== 0) throw new Http2ProtocolError("PROTOCOL_ERROR", "a stream goes away");
    if (payload.length < 8) throw wrongSize("GOAWAY");
    const last = payload.readUInt32BE(0) & 0x7fffffff;
    const code = http2ErrorName(payload.readUInt32BE(4));
    const said = payload.subarray(8, 8 + 256).toString("utf8");
    const detail = [code === "NO_ERROR" ? "" : code, said].filter((part) => part !== "").join(": ");
    const reason = new Error(`the server ends the connection${detail && ` (${detail})`}`);
    this.#drain(reason);
    for (const stream of this.#streams.values()) {
      if (stream.id <= last) continue;
      this.#remove(stream);
      stream.listener.onFailure({ kind: "unprocessed", reason });
    }
    this.#closeIfDone();
  }

  #takeWindowUpdate(id: number, payload: Buffer): void {
    const increment = windowIncrement(payload);
    if (id === 0) {
      this.#windows.widenConnection(increment);
      return;
    }
    const stream = this.#streamOf(id);
    if (stream !== undefined) this.#windows.widen(stream, increment);
  }

  /** The stream of a frame; undefined where it has ended, after which frames may still be under way. */
  #streamOf(id: number): Http2Stream | undefined {
    const stream = this.#streams.get(id);
    if (stream === undefined && (id === 0 || id % 2 === 0 || id >= this.#nextId)) {
      throw new Http2ProtocolError("PROTOCOL_ERROR", `there is no stream ${id}`);
    }
    return stream;
  }

  #refuse(stream: Http2Stream, reason: Error): void {
    stream.isClosed = true;
    stream.listener.onFailure({ kind: "unprocessed", reason });
  }

  #remove(stream: Http2Stream): void {
    stream.isClosed = true;
    stream.pending.length = 0;
    this.#windows.forget(stream);
    if (stream.id === 0) this.#waiting.delete(stream);
    else this.#streams.delete(stream.id);
    this.#beginWaiting();
    this.#closeIfDone();
  }

  #beginWaiting(): void {
    for (const [stream, block] of this.#waiting) {
      if (this.#streams.size >= this.#peerStreams || this.#draining !== undefined) return;
      this.#waiting.delete(stream);
      this.#begin(stream, block);
    }
  }

  #drain(reason: Error): void {
    if (this.#draining !== undefined) return;
    this.#draining = reason;
    this.#options.onDraining(reason);
    for (const stream of this.#waiting.keys()) {
      this.#waiting.delete(stream);
      this.#refuse(stream, reason);
    }
  }

  #closeIfDone(): void {
    if (this.#draining === undefined || this.#streams.size > 0) return;
    this.#fail(this.#draining, "NO_ERROR");
  }

  #fail(cause: Error, code?: Http2ErrorName): void {
    if (this.#closed !== undefined) return;
    const reason = this.#hasConnected || code !== undefined ? cause : notConnected(cause);
    this.#closed = reason;
    this.#drain(reason);
    const { socket } = this.#options;
    if (code !== undefined && this.#hasConnected && !socket.destroyed) {
      this.#outbox.push(goAwayFrame(0, HTTP2_ERRORS[code]));
      this.#outbox.close();
      const linger = setTimeout(() => socket.destroy(), LINGER_MS);
      socket.once("close", () => clearTimeout(linger));
      socket.end(() => socket.destroy());
    } else {
      socket.destroy();
    }
    const kind: StreamFailure["kind"] = this.#hasConnected ? "lost" : "unprocessed";
    for (const stream of this.#streams.values()) {
      this.#streams.delete(stream.id);
      stream.isClosed = true;
      stream.pending.length = 0;
      stream.listener.onFailure({ kind, reason });
    }
    this.#windows.clear();
    this.#options.onClosed();
  }
}

function notConnected(cause: Error): Error {
  return new Error(`No connection established: ${cause.message}`, { cause });
}
