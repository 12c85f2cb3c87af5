import type { Duplex } from "node:stream";
import { AbandonedRequests } from "./abandoned-requests.ts";
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
import { Http2Stream, type StreamListener } from "./http2-stream.ts";
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
} from "./peer-frames.ts";
import { SendWindows } from "./send-windows.ts";

/** Answers one request. */
export interface RequestListener extends StreamListener {
  /** Called once, before everything else. The body follows unless `isEnd`. */
  onRequest(stream: Http2Stream, headers: HeaderList, isEnd: boolean): void;
}

interface ServerConnectionOptions {
  /** The connection owns it from here on. */
  readonly socket: Duplex;
  /** The largest block of headers that is taken. */
  readonly headerBytes: number;
  /** How many requests the client may have open at once; further ones are refused. */
  readonly maxStreams: number;
  /** Time for the client to begin HTTP/2. @default 20_000 */
  readonly startMs?: number;
  /** While more than this waits for the client to read, nothing is read from it. @default 16 MiB */
  readonly maxUnsentBytes?: number;
  /** How long the client may then take to read anything. @default 60_000 */
  readonly stallMs?: number;
  /** Time in ms, of a clock that never goes back. @default performance.now */
  readonly now?: () => number;
  /** What answers the next request. */
  readonly accept: () => RequestListener;
  /** The socket has closed; called once, after what was under way has failed. */
  readonly onClosed: () => void;
}

/** The table of headers that clients may use: the size that they start with. */
const TABLE_BYTES = 4096;
/** Time for a client to begin. */
const START_MS = 20_000;
/**
 * Answers that wait for the client to read them; a client that reads what it has asked for is rarely so far behind. All bytes
 * count, those of bodies too: the windows that limit these are the client's to choose.
 */
const MAX_UNSENT_BYTES = 16 * 2 ** 20;
/** A client that may stop reading until all it sends is taken would wait for this side, as this side for it. */
const STALL_MS = 60_000;
/** How long the last frame may take to leave, and after what was asked for, the client to take the end. */
const LINGER_MS = 1000;

/**
 * The server's side of an HTTP/2 connection: the counterpart of `ClientConnection`, with the same bounds.
 *
 * Invariants:
 * - a stream is in `#streams` from its first frame until both sides have ended or one reset it;
 * - every listener gets one end of the request or one failure, unless its own side resets the stream;
 * - a request whose id is above the one in a GOAWAY that was sent never reaches a listener;
 * - `#stall` is set exactly while nothing is read, because too much is unsent.
 *
 * Source: RFC 9113; RFC 7541.
 */
export class ServerConnection {
  readonly #options: ServerConnectionOptions;
  readonly #outbox: Outbox;
  readonly #reader: FrameReader;
  readonly #headers: HeaderBlocks;
  readonly #windows: SendWindows;
  readonly #answers: Answers;
  readonly #receipts: ConnectionReceipts;
  readonly #streams = new Map<number, Http2Stream>();
  /** Streams whose client has sent everything. */
  readonly #remoteEnds = new Set<Http2Stream>();
  #preface: Buffer | undefined = Buffer.alloc(0);
  #hasSettings = false;
  readonly #start: NodeJS.Timeout;
  #stall: NodeJS.Timeout | undefined;
  #linger: NodeJS.Timeout | undefined;
  #lastId = 0;
  readonly #abandoned: AbandonedRequests;
  #isDraining = false;
  #isClosed = false;

  constructor(options: ServerConnectionOptions) {
    const { socket, headerBytes, maxStreams } = options;
    this.#options = options;
    this.#outbox = new Outbox(socket, this.#onProgress);
    this.#abandoned = new AbandonedRequests(options.now ?? (() => performance.now()));
    this.#windows = new SendWindows(this.#outbox, this.#onEndSent);
    this.#answers = new Answers(this.#outbox);
    this.#receipts = new ConnectionReceipts(this.#outbox);
    this.#headers = new HeaderBlocks(headerBytes, TABLE_BYTES);
    this.#reader = new FrameReader(DEFAULT_FRAME_BYTES, this.#onFrame);
    socket.on("data", this.#onBytes);
    socket.on("error", (error: Error) => this.#fail(error));
    socket.on("end", this.#onEnd);
    socket.on("close", this.#onSocketClosed);
    this.#start = setTimeout(() => {
      this.#fail(new Error("the client did not begin HTTP/2 in time"), "SETTINGS_TIMEOUT");
    }, options.startMs ?? START_MS);
    this.#outbox.push(
      settingsFrame([
        [SETTING.MAX_CONCURRENT_STREAMS, Math.min(maxStreams, LARGEST_WINDOW_BYTES)],
        [SETTING.MAX_HEADER_LIST_SIZE, headerBytes],
      ]),
    );
    this.#receipts.open();
  }

  /** Requests under way. */
  get size(): number {
    return this.#streams.size;
  }

  /** Sends what the windows let pass. For {@link Http2Stream}. */
  send(stream: Http2Stream): void {
    this.#windows.send(stream);
  }

  /** For {@link Http2Stream}. */
  reset(stream: Http2Stream, code: number): void {
    this.#outbox.push(resetFrame(stream.id, code));
    this.#remove(stream);
  }

  /** For {@link Http2Stream}. */
  update(stream: Http2Stream, bytes: number): void {
    this.#outbox.push(windowUpdateFrame(stream.id, bytes));
  }

  /** Takes no further request; the connection ends with the last one under way. */
  drain(): void {
    if (this.#isDraining || this.#isClosed) return;
    this.#isDraining = true;
    this.#outbox.push(goAwayFrame(this.#lastId, HTTP2_ERRORS.NO_ERROR));
    this.#closeIfDone();
  }

  /** Ends the connection. Requests under way fail with the reason; where it drains, the client has a last moment for what it did not read. */
  close(reason: Error): void {
    if (this.#isClosed) this.#startLinger();
    else this.#fail(reason, "NO_ERROR");
  }

  readonly #onEnd = (): void => this.#fail(new Error("the connection was closed"));

  readonly #onSocketClosed = (): void => {
    clearTimeout(this.#linger);
    this.#onEnd();
    this.#options.onClosed();
  };

  /** The client has read something. */
  readonly #onProgress = (): void => {
    if (this.#stall === undefined) return;
    this.#stall.refresh();
    // Not at the first byte below the bound, so that a client gets on by more than a frame at a time.
    if (this.#outbox.unsentBytes > this.#maxUnsentBytes / 2) return;
    this.#endStall();
    this.#options.socket.resume();
  };

  readonly #onBytes = (chunk: Buffer): void => {
    if (this.#isClosed) return;
    this.#read(chunk);
    if (this.#isClosed || this.#stall !== undefined) return;
    if (this.#outbox.unsentBytes > this.#maxUnsentBytes) this.#beginStall();
  };

  get #maxUnsentBytes(): number {
    return this.#options.maxUnsentBytes ?? MAX_UNSENT_BYTES;
  }

  /** Lets the client send no more before it reads. */
  #beginStall(): void {
    this.#options.socket.pause();
    this.#stall = setTimeout(() => {
      this.#fail(new Error("the client does not read its answers"), "ENHANCE_YOUR_CALM");
    }, this.#options.stallMs ?? STALL_MS);
  }

  #endStall(): void {
    clearTimeout(this.#stall);
    this.#stall = undefined;
  }

  #read(chunk: Buffer): void {
    try {
      const frames = this.#preface === undefined ? chunk : this.#takePreface(this.#preface, chunk);
      if (frames.length > 0) this.#reader.push(frames);
    } catch (error) {
      if (!(error instanceof Http2ProtocolError)) throw error;
      const text = `the client does not keep to HTTP/2: ${error.message}`;
      this.#fail(new Error(text, { cause: error }), error.code);
    }
  }

  /** What follows the preface. */
  #takePreface(former: Buffer, chunk: Buffer): Buffer {
    const bytes = former.length === 0 ? chunk : Buffer.concat([former, chunk]);
    const seen = bytes.subarray(0, CLIENT_PREFACE.length);
    if (!seen.equals(CLIENT_PREFACE.subarray(0, seen.length))) {
      throw new Http2ProtocolError("PROTOCOL_ERROR", "it does not begin with the preface");
    }
    const isWhole = seen.length === CLIENT_PREFACE.length;
    this.#preface = isWhole ? undefined : bytes;
    return bytes.subarray(seen.length);
  }

  readonly #onFrame = (type: number, flags: number, id: number, payload: Buffer): void => {
    if (this.#isClosed) return;
    if (!this.#hasSettings) {
      if (type !== FRAME.SETTINGS || (flags & FLAG.ACK) !== 0) {
        throw new Http2ProtocolError("PROTOCOL_ERROR", "the first frame has no settings");
      }
      this.#hasSettings = true;
      clearTimeout(this.#start);
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
        throw new Http2ProtocolError("PROTOCOL_ERROR", "a push of a client");
      case FRAME.PING:
        if (checkPing(flags, id, payload)) this.#answers.send(pingAckFrame(payload));
        break;
      case FRAME.WINDOW_UPDATE:
        this.#takeWindowUpdate(id, payload);
        break;
      default:
      // Headers that are not complete yet, priorities, the client's GOAWAY, and frames of extensions.
    }
  };

  #takeHeaders(id: number, headers: HeaderList, isEnd: boolean): void {
    if (id % 2 === 0) {
      throw new Http2ProtocolError("PROTOCOL_ERROR", `headers of stream ${id}`);
    }
    if (id <= this.#lastId) {
      const stream = this.#streams.get(id);
      if (stream === undefined) return;
      if (!isEnd) throw new Http2ProtocolError("PROTOCOL_ERROR", "headers within a body");
      this.#endByPeer(stream);
      stream.listener.onHeaders(headers, true);
      return;
    }
    if (this.#isDraining) return;
    this.#lastId = id;
    if (this.#streams.size >= this.#options.maxStreams) {
      this.#outbox.push(resetFrame(id, HTTP2_ERRORS.REFUSED_STREAM));
      this.#abandoned.add();
      return;
    }
    const listener = this.#options.accept();
    const stream = new Http2Stream(this, DEFAULT_WINDOW_BYTES, listener);
    stream.id = id;
    this.#windows.begin(stream);
    this.#streams.set(id, stream);
    if (isEnd) this.#remoteEnds.add(stream);
    listener.onRequest(stream, headers, isEnd);
  }

  #takeData(flags: number, id: number, payload: Buffer): void {
    this.#receipts.take(payload.length);
    const stream = this.#streamOf(id);
    const data = bodyOf(flags, payload);
    if (stream === undefined) return;
    if (this.#remoteEnds.has(stream)) {
      throw new Http2ProtocolError("STREAM_CLOSED", "a body continues behind its end");
    }
    takeFromWindow(stream, payload, data);
    const isEnd = (flags & FLAG.END_STREAM) !== 0;
    if (isEnd) this.#endByPeer(stream);
    stream.listener.onData(data, isEnd);
  }

  /** The client has sent everything; the stream ends with the answer. */
  #endByPeer(stream: Http2Stream): void {
    if (this.#remoteEnds.has(stream)) {
      throw new Http2ProtocolError("STREAM_CLOSED", "a request ends twice");
    }
    this.#remoteEnds.add(stream);
  }

  /** The answer is complete. What the client has not sent by then is not wanted. */
  readonly #onEndSent = (stream: Http2Stream): void => {
    if (!this.#remoteEnds.has(stream)) {
      this.#outbox.push(resetFrame(stream.id, HTTP2_ERRORS.NO_ERROR));
    }
    this.#abandoned.answered();
    this.#remove(stream);
  };

  #takeReset(id: number, payload: Buffer): void {
    const stream = this.#streamOf(id);
    const code = resetCode(payload);
    if (stream === undefined) return;
    this.#remove(stream);
    const reason = new Error(`the client ended the request (${http2ErrorName(code)})`);
    stream.listener.onFailure({ kind: "reset", code, reason });
    this.#abandoned.add();
  }

  #takeSettings(flags: number, id: number, payload: Buffer): void {
    const isAsked = readSettings(flags, id, payload, (setting, value) => {
      this.#windows.takeSetting(setting, value);
    });
    if (!isAsked) return;
    this.#windows.applySettings(this.#streams.values());
    this.#answers.send(settingsAckFrame());
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

  /** The stream of a frame; undefined where it has ended or was left out, after which frames may still be under way. */
  #streamOf(id: number): Http2Stream | undefined {
    const stream = this.#streams.get(id);
    const isIdle = id > this.#lastId && !this.#isDraining;
    if (stream === undefined && (id === 0 || id % 2 === 0 || isIdle)) {
      throw new Http2ProtocolError("PROTOCOL_ERROR", `there is no stream ${id}`);
    }
    return stream;
  }

  #remove(stream: Http2Stream): void {
    stream.isClosed = true;
    stream.pending.length = 0;
    this.#windows.forget(stream);
    this.#remoteEnds.delete(stream);
    this.#streams.delete(stream.id);
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (this.#isDraining && this.#streams.size === 0) {
      // All that was asked for is answered, and has as long to leave as `close` leaves it.
      this.#options.socket.once("finish", this.#startLinger);
      this.#fail(new Error("the server ends the connection"), "NO_ERROR", false);
    }
  }

  readonly #startLinger = (): void => {
    const { socket } = this.#options;
    if (socket.destroyed) return;
    this.#linger ??= setTimeout(() => socket.destroy(), LINGER_MS);
  };

  /** @param isLimited whether what is unsent has a moment to leave, and no more */
  #fail(reason: Error, code?: Http2ErrorName, isLimited = true): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#start);
    this.#endStall();
    const { socket } = this.#options;
    if (code !== undefined && !socket.destroyed) {
      this.#outbox.push(goAwayFrame(this.#lastId, HTTP2_ERRORS[code]));
      this.#outbox.close();
      if (isLimited) this.#startLinger();
      // What the client still sends is read and dropped, so that it is not reset before it has read what was sent.
      socket.resume();
      socket.end();
    } else {
      socket.destroy();
    }
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    this.#remoteEnds.clear();
    this.#windows.clear();
    for (const stream of streams) {
      stream.isClosed = true;
      stream.pending.length = 0;
      stream.listener.onFailure({ kind: "lost", reason });
    }
  }
}
