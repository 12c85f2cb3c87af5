import {
  type HeaderList,
  HTTP2_ERRORS,
  type Http2Stream,
  type StreamFailure,
  type StreamListener,
} from "../../http2/index.ts";
import type { RpcCallOptions } from "../client-call.ts";
import { deadlineOf } from "../deadline.ts";
import { RpcError } from "../rpc-error.ts";
import type { MethodDefinition } from "../service.ts";
import { errorOfFailure, errorOfHttpStatus, errorOfTrailers, isGrpcAnswer } from "./call-status.ts";
import type { FrameChannel } from "./frame-channel.ts";
import { frameMessage, MessageReader } from "./message-reader.ts";
import { metadataOf } from "./metadata-headers.ts";

/** Where the answer of a call goes. */
export interface ExchangeSink {
  /** Whether nothing more is to come for now; see {@link Exchange.resume}. */
  readonly isFull: boolean;
  onMessage(message: Buffer): void;
  /** Called once, and last. `isCanceled`: this side ended it, what came is not wanted any more. */
  onEnd(outcome: { readonly error?: unknown }, isCanceled: boolean): void;
}

/** The longest that a timer can wait. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * One call over frames, whatever its shape: headers, messages both ways, the end.
 *
 * Invariant: the sink's `onEnd` is called exactly once, by the server's status, a failure, the deadline, the signal, or the
 * end of the channel, whichever comes first; after it the exchange holds no timer and watches no signal.
 */
export class Exchange implements StreamListener {
  readonly #channel: FrameChannel;
  readonly #method: MethodDefinition;
  readonly #options: RpcCallOptions;
  readonly #sink: ExchangeSink;
  readonly #messages: MessageReader;
  #stream: Http2Stream | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasHeaders = false;
  #hasEnded = false;
  #unreleasedBytes = 0;

  constructor(
    channel: FrameChannel,
    method: MethodDefinition,
    options: RpcCallOptions,
    sink: ExchangeSink,
  ) {
    this.#channel = channel;
    this.#method = method;
    this.#options = options;
    this.#sink = sink;
    this.#messages = new MessageReader(channel.maxMessageBytes, "INTERNAL");
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Begins the call. Throws what a call rejects with that cannot start. */
  start(): void {
    const connection = this.#channel.connect(this.#options);
    const deadline = deadlineOf(this.#options);
    const leftMs = deadline - Date.now();
    if (leftMs <= 0) throw tooLate(this.#method);
    const block = this.#channel.headers.encode(this.#method.path, leftMs, this.#options.metadata);
    this.#channel.watch(this.#options, this.cancel);
    if (leftMs !== Number.POSITIVE_INFINITY) this.#startTimer(deadline);
    this.#stream = connection.open(block, this);
  }

  /** Sends a message. Throws RESOURCE_EXHAUSTED for one over the limit. */
  send(message: Buffer, isLast: boolean, onSent?: () => void): void {
    const limit = this.#channel.maxMessageBytes;
    if (message.length > limit) {
      const text = `Attempted to send message with a size larger than ${limit}`;
      throw new RpcError("RESOURCE_EXHAUSTED", text, { unprocessed: true });
    }
    this.#stream?.write(frameMessage(message), isLast, onSent);
  }

  /** No message follows. */
  endSending(): void {
    this.#stream?.write(NOTHING, true);
  }

  /** The sink has room again. */
  resume(): void {
    const bytes = this.#unreleasedBytes;
    this.#unreleasedBytes = 0;
    if (bytes > 0) this.#release(bytes);
  }

  /** Ends the call from this side, unless it has ended. */
  readonly cancel = (reason: unknown): void => {
    this.abandon({ error: reason });
  };

  /** Like {@link cancel}, with or without an error. */
  abandon(outcome: { readonly error?: unknown }): void {
    if (!this.#finish()) return;
    this.#stream?.reset(HTTP2_ERRORS.CANCEL);
    this.#sink.onEnd(outcome, true);
  }

  onHeaders(headers: HeaderList, isEnd: boolean): void {
    if (this.#hasEnded) return;
    if (isEnd) {
      this.#end(headers);
      return;
    }
    if (this.#hasHeaders || !isGrpcAnswer(headers)) {
      const error = this.#hasHeaders
        ? new RpcError("INTERNAL", "the server sent headers in the middle of an answer")
        : errorOfHttpStatus(headers);
      this.cancel(error);
      return;
    }
    this.#hasHeaders = true;
    this.#show(headers, this.#options.onHeader);
  }

  onData(data: Buffer, isEnd: boolean): void {
    if (this.#hasEnded) return;
    try {
      if (!this.#hasHeaders) throw new RpcError("INTERNAL", "the server sent data before headers");
      this.#messages.push(data, this.#onMessage);
    } catch (error) {
      this.cancel(error);
      return;
    }
    if (isEnd) {
      this.#endWith(new RpcError("INTERNAL", "the server ended the call without a status"));
    } else if (this.#sink.isFull) {
      this.#unreleasedBytes += data.length;
    } else {
      this.#release(data.length);
    }
  }

  onFailure(failure: StreamFailure): void {
    this.#endWith(errorOfFailure(failure));
  }

  /** What came may come again, and the rest of a message that has begun without a pause. */
  #release(bytes: number): void {
    this.#stream?.release(bytes);
    this.#stream?.ensure(this.#messages.missingBytes);
  }

  readonly #onMessage = (message: Buffer): void => {
    if (!this.#hasEnded) this.#sink.onMessage(message);
  };

  #end(headers: HeaderList): void {
    let error = errorOfTrailers(headers);
    if (error === undefined && this.#messages.isOpen) {
      error = new RpcError("INTERNAL", "the server ended the call in the middle of a message");
    }
    this.#show(headers, this.#options.onTrailer);
    this.#endWith(error);
  }

  #endWith(error: RpcError | undefined): void {
    if (this.#finish()) this.#sink.onEnd(error === undefined ? {} : { error }, false);
  }

  #show(headers: HeaderList, to: RpcCallOptions["onHeader"]): void {
    if (to === undefined) return;
    try {
      to(metadataOf(headers));
    } catch (error) {
      this.cancel(error);
    }
  }

  /** False where the call has ended already. */
  #finish(): boolean {
    if (this.#hasEnded) return false;
    this.#hasEnded = true;
    this.#channel.unwatch(this.#options, this.cancel);
    clearTimeout(this.#timer);
    return true;
  }

  #startTimer(deadline: number): void {
    const leftMs = deadline - Date.now();
    this.#timer = setTimeout(
      () => {
        if (Date.now() < deadline) this.#startTimer(deadline);
        else this.cancel(tooLate(this.#method));
      },
      Math.min(Math.max(leftMs, 0), LONGEST_TIMER_MS),
    );
  }
}

const NOTHING = Buffer.alloc(0);

function tooLate({ path }: MethodDefinition): RpcError {
  return new RpcError("DEADLINE_EXCEEDED", `Deadline exceeded: ${path} was not answered in time`);
}
