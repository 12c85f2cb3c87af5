import { Metadata } from "@grpc/grpc-js";
import type { HeaderList, Http2Stream, RequestListener } from "../../http2/index.ts";
import type { Admit } from "../admission.ts";
import { statusOfFailure } from "../call-failure.ts";
import type { AnySingle, AnyStream, BoundMethod } from "../implement.ts";
import { decodeRequest, encodeResponse } from "../message-codec.ts";
import { MessageQueue } from "../message-queue.ts";
import { isNodeClient, limitErrorSize } from "../node-limits.ts";
import { finishSoon, RequestStream } from "../request-stream.ts";
import { RpcError, type RpcStatus } from "../rpc-error.ts";
import { sendResponses } from "../send-responses.ts";
import type { HandlerContext } from "../server-call.ts";
import { DEFAULT_BUFFER_BYTES } from "../service.ts";
import { frameMessage, MessageReader } from "./message-reader.ts";
import { metadataOf } from "./metadata-headers.ts";
import { answerHeaders, refusalOf, statusHeaders, timeoutOf, valueOf } from "./request-parts.ts";

/** A method as a server has it. */
export interface ServedMethod extends BoundMethod {
  readonly admit: Admit | undefined;
}

/** What the calls of a connection share. */
export interface CallHost {
  readonly methods: ReadonlyMap<string, ServedMethod>;
  readonly maxRequestBytes: number;
  readonly maxResponseBytes: number;
  /** Address of the client. */
  readonly peer: string;
}

/** A path costs a client one byte where it repeats it, and the answer several for each character. */
const SHOWN_PATH = 200;
/** The longest that a timer can wait. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * One call that is served over frames, whatever its shape.
 *
 * Invariants: the client gets exactly one status, unless it has gone; after it the call holds no timer. The signal aborts only
 * when the call ends in another way than by its handler. Nothing of the request is read before the call is admitted.
 */
export class ServedCall implements RequestListener, HandlerContext {
  readonly #host: CallHost;
  readonly #messages: MessageReader;
  #headers: HeaderList = [];
  #served: ServedMethod | undefined;
  #stream: Http2Stream | undefined;
  #inbound: MessageQueue | undefined;
  #request: Buffer | undefined;
  #controller: AbortController | undefined;
  #abortReason: RpcError | undefined;
  #metadata: Metadata | undefined;
  #trailer: Metadata | undefined;
  #deadline = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #hasBegun = false;
  #hasRequestEnd = false;
  #hasSentHeaders = false;
  #hasEnded = false;
  /** Whether it ended by something else than its handler. */
  #isFailing = false;
  #unreleasedBytes = 0;
  /** What came of the body before the call was admitted; at most the window of a stream. */
  #early: Buffer[] = [];

  constructor(host: CallHost) {
    this.#host = host;
    this.#messages = new MessageReader(host.maxRequestBytes, "UNIMPLEMENTED");
  }

  // The context of the handler.

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get metadata(): Metadata {
    this.#metadata ??= metadataOf(this.#headers);
    return this.#metadata;
  }

  get trailer(): Metadata {
    this.#trailer ??= new Metadata();
    return this.#trailer;
  }

  get method(): string {
    return this.#served?.method.path ?? "";
  }

  get deadline(): Date | undefined {
    return this.#deadline === Number.POSITIVE_INFINITY ? undefined : new Date(this.#deadline);
  }

  get peer(): HandlerContext["peer"] {
    return { address: this.#host.peer };
  }

  sendHeader(header: Metadata): void {
    if (this.#hasEnded || this.#hasSentHeaders) return;
    this.#hasSentHeaders = true;
    this.#stream?.writeHeaders(answerHeaders(header), false);
  }

  encode(response: unknown): Buffer {
    const { method } = this.#served as ServedMethod;
    const bytes = encodeResponse(method, response);
    const { maxResponseBytes } = this.#host;
    if (bytes.length <= maxResponseBytes) return bytes;
    const text = `Sent message larger than max (${bytes.length} vs. ${maxResponseBytes})`;
    throw new RpcError("RESOURCE_EXHAUSTED", text);
  }

  decode(request: Buffer): unknown {
    return decodeRequest((this.#served as ServedMethod).method, request);
  }

  // What comes from the connection.

  onRequest(stream: Http2Stream, headers: HeaderList, isEnd: boolean): void {
    this.#stream = stream;
    this.#headers = headers;
    this.#hasRequestEnd = isEnd;
    const refusal = refusalOf(headers);
    if (refusal !== undefined) {
      this.#hasEnded = true;
      stream.writeHeaders(refusal, true);
      return;
    }
    const path = valueOf(headers, ":path") ?? "";
    const served = this.#host.methods.get(path);
    if (served?.handler === undefined) {
      const shown = path.length > SHOWN_PATH ? `${path.slice(0, SHOWN_PATH)}...` : path;
      this.#fail(
        new RpcError("UNIMPLEMENTED", `The server does not implement the method ${shown}`),
      );
      return;
    }
    this.#served = served;
    const timeout = timeoutOf(headers);
    if (timeout === "invalid") {
      this.#fail(new RpcError("INTERNAL", "the timeout of the call cannot be read"));
      return;
    }
    if (timeout !== undefined) {
      this.#deadline = Date.now() + timeout;
      this.#startTimer();
    }
    if (served.admit === undefined) this.#begin(served);
    // Never rejects, and the call is its owner.
    else void this.#askAdmission(served, served.admit);
  }

  onHeaders(_headers: HeaderList, isEnd: boolean): void {
    // Nothing of gRPC is behind the body of a request.
    if (isEnd) this.#takeRequestEnd();
  }

  onData(data: Buffer, isEnd: boolean): void {
    if (this.#hasEnded) return;
    this.#hasRequestEnd ||= isEnd;
    if (!this.#hasBegun) this.#keep(data);
    else if (this.#read(data) && isEnd) this.#takeRequestEnd();
  }

  /** Frames without bytes are not limited by a window, and say nothing. */
  #keep(data: Buffer): void {
    if (data.length > 0) this.#early.push(Buffer.from(data));
  }

  onFailure(): void {
    this.#abort(new RpcError("CANCELLED", "the client canceled the call or disconnected"));
  }

  // From the request to the handler.

  async #askAdmission(served: ServedMethod, admit: Admit): Promise<void> {
    try {
      await admit({ metadata: this.metadata, method: served.method.path });
    } catch (error) {
      const status = RpcError.from(error).toStatus();
      this.#respond(isNodeClient(this.metadata) ? limitErrorSize(status) : status);
      return;
    }
    if (!this.#hasEnded) this.#begin(served);
  }

  #begin(served: ServedMethod): void {
    this.#hasBegun = true;
    if (served.method.requestStream) {
      const bufferBytes = served.options.bufferBytes ?? DEFAULT_BUFFER_BYTES;
      this.#inbound = new MessageQueue(bufferBytes, () => this.#resume());
      void this.#answer(served, new RequestStream(this, this.#inbound));
    }
    const early = this.#early;
    this.#early = [];
    for (const data of early) if (!this.#read(data)) return;
    if (this.#hasRequestEnd) this.#takeRequestEnd();
  }

  /** False where the call has failed by it. */
  #read(data: Buffer): boolean {
    try {
      this.#messages.push(data, this.#onMessage);
    } catch (error) {
      this.#fail(error);
      return false;
    }
    if (this.#inbound?.isFull === true) this.#unreleasedBytes += data.length;
    else this.#release(data.length);
    return true;
  }

  readonly #onMessage = (message: Buffer): void => {
    if (this.#inbound !== undefined) this.#inbound.push(message);
    else if (this.#request === undefined) this.#request = message;
    else throw new RpcError("INTERNAL", `${this.method} takes one request, and got several`);
  };

  #takeRequestEnd(): void {
    this.#hasRequestEnd = true;
    if (this.#hasEnded || !this.#hasBegun) return;
    if (this.#messages.isOpen) {
      this.#fail(new RpcError("INTERNAL", "the request ends in the middle of a message"));
    } else if (this.#inbound !== undefined) {
      finishSoon(this.#inbound);
    } else if (this.#request === undefined) {
      this.#fail(new RpcError("INTERNAL", `${this.method} takes one request, and got none`));
    } else {
      const request = this.#request;
      this.#request = undefined;
      void this.#answer(this.#served as ServedMethod, request);
    }
  }

  #resume(): void {
    const bytes = this.#unreleasedBytes;
    this.#unreleasedBytes = 0;
    if (bytes > 0) this.#release(bytes);
  }

  /** What came may come again, and the rest of a message that has begun without a pause. */
  #release(bytes: number): void {
    this.#stream?.release(bytes);
    this.#stream?.ensure(this.#messages.missingBytes);
  }

  // From the handler to the answer.

  /** Never rejects. */
  async #answer(
    { method, handler, options }: ServedMethod,
    request: Buffer | RequestStream<unknown>,
  ): Promise<void> {
    try {
      const decoded = request instanceof RequestStream ? request : this.decode(request);
      if (method.responseStream) {
        const responses = (handler as AnyStream)(decoded, this);
        const target = {
          write: (message: Buffer, onSent: () => void) => this.#write(message, onSent),
        };
        if (await sendResponses(this, target, responses, options.bufferBytes)) this.#succeed();
      } else {
        const bytes = this.encode(await (handler as AnySingle)(decoded, this));
        this.#write(bytes);
        this.#succeed();
      }
    } catch (error) {
      this.#respond(statusOfFailure(error, this, options));
    }
  }

  #write(message: Buffer, onSent?: () => void): void {
    if (this.#hasEnded) return;
    if (!this.#hasSentHeaders) {
      this.#hasSentHeaders = true;
      this.#stream?.writeHeaders(answerHeaders(undefined), false);
    }
    this.#stream?.write(frameMessage(message), false, onSent);
  }

  #succeed(): void {
    this.#respond({ code: 0, details: "", metadata: this.#trailer });
  }

  /** Ends the call before its handler does, or without one. */
  #fail(error: unknown): void {
    if (this.#hasEnded) return;
    const failure = RpcError.from(error);
    this.#isFailing = true;
    this.#respond(failure.toStatus());
    this.#abort(failure);
  }

  #respond({ code, details, metadata }: SentStatus): void {
    if (!this.#finish()) return;
    this.#stream?.writeHeaders(statusHeaders(code, details, metadata, !this.#hasSentHeaders), true);
  }

  /** Ends the call on this side, without an answer where it has none yet. */
  #abort(reason: RpcError): void {
    // A failure of the stream behind the status changes nothing.
    const isFirst = this.#finish() || this.#isFailing;
    if (!isFirst || this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    this.#inbound?.abandon({ error: reason });
    this.#controller?.abort(reason);
  }

  /** False where the call has ended already. */
  #finish(): boolean {
    if (this.#hasEnded) return false;
    this.#hasEnded = true;
    this.#early = [];
    clearTimeout(this.#timer);
    return true;
  }

  #startTimer(): void {
    const leftMs = this.#deadline - Date.now();
    this.#timer = setTimeout(
      () => {
        if (Date.now() < this.#deadline) this.#startTimer();
        else this.#fail(new RpcError("DEADLINE_EXCEEDED", "the deadline of the call has passed"));
      },
      Math.min(Math.max(leftMs, 0), LONGEST_TIMER_MS),
    );
  }
}

type SentStatus = Omit<RpcStatus, "metadata"> & { readonly metadata: Metadata | undefined };
