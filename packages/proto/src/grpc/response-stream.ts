import type { ClientDuplexStream, ClientReadableStream, ServiceError } from "@grpc/grpc-js";
import type { ClientCall } from "./client-call.ts";
import { receiveFrom } from "./inbound.ts";
import { decodeResponse, encodeRequest } from "./message-codec.ts";
import type { MessageQueue } from "./message-queue.ts";
import { Outbound } from "./outbound.ts";
import { type Messages, type MethodDefinition, passBytes } from "./service.ts";

/** What a method with a stream of responses is called with. */
export type StreamRequest =
  | { readonly kind: "one"; readonly request: unknown }
  | { readonly kind: "many"; readonly requests: Messages<unknown> };

/** A call with a stream of responses that is under way. */
export interface StartedStream {
  readonly inbound: MessageQueue;
  /** Ends the call, unless it has ended. */
  cancel(outcome: { readonly error?: unknown }): void;
}

/**
 * The responses of a call. The call starts when the first one is asked for, and can be iterated
 * once. Leaving the iteration, by `break`, an error or `return`, cancels the call; `return` does so
 * at once, even while a response is being waited for. Responses that came before an error are
 * given out before it.
 */
export class ResponseStream<T> implements AsyncIterableIterator<T, undefined>, AsyncDisposable {
  readonly #method: MethodDefinition;
  readonly #start: () => StartedStream;
  #started: StartedStream | undefined;
  #isDone = false;

  constructor(method: MethodDefinition, start: () => StartedStream) {
    this.#method = method;
    this.#start = start;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    if (this.#isDone) return { done: true, value: undefined };
    try {
      this.#started ??= this.#start();
      const message = await this.#started.inbound.take();
      if (message !== undefined) {
        return { done: false, value: decodeResponse(this.#method, message) as T };
      }
    } catch (error) {
      this.#finish();
      throw error;
    }
    this.#finish();
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#finish();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#finish();
  }

  #finish(): void {
    this.#isDone = true;
    this.#started?.cancel({});
  }
}

/** A stream of responses of grpc-js. */
export class GrpcStream implements StartedStream {
  readonly inbound: MessageQueue;
  readonly #call: ClientCall;
  readonly #stream: ClientReadableStream<Buffer> | ClientDuplexStream<Buffer, Buffer>;
  readonly #outbound: Outbound<unknown> | undefined;

  constructor(call: ClientCall, request: StreamRequest) {
    this.#call = call;
    const { path } = call.method;
    const client = call.open();
    if (request.kind === "one") {
      this.#stream = client.makeServerStreamRequest(
        path,
        passBytes,
        passBytes,
        encodeRequest(call.method, request.request),
        call.metadata,
        call.grpcOptions,
      );
      this.inbound = this.#receive();
      return;
    }
    const stream = client.makeBidiStreamRequest(
      path,
      passBytes,
      passBytes,
      call.metadata,
      call.grpcOptions,
    );
    this.#stream = stream;
    this.inbound = this.#receive();
    this.#outbound = new Outbound(
      stream,
      (message) => encodeRequest(call.method, message),
      call.bufferBytes,
    );
    // Never rejects, and ends with the call.
    void this.#send(stream, this.#outbound, request.requests);
  }

  cancel(outcome: { readonly error?: unknown }): void {
    if (!this.#call.end()) return;
    this.#abandon(outcome);
    this.#stream.cancel();
  }

  #abandon(outcome: { readonly error?: unknown }): void {
    this.inbound.abandon(outcome);
    this.#outbound?.stop();
  }

  #receive(): MessageQueue {
    const inbound = receiveFrom(this.#stream, this.#call.bufferBytes);
    let outcome: { readonly error?: unknown } = {};
    this.#stream.on("error", (error: ServiceError) => {
      this.#call.failure = error;
    });
    this.#call.watch(
      this.#stream,
      (error) => {
        if (error !== undefined) outcome = { error };
        this.#outbound?.stop();
      },
      (reason) => this.#abandon({ error: reason }),
    );
    // grpc-js ends its stream together with the status; the end comes out behind the messages.
    this.#stream.on("end", () => inbound.finish(outcome));
    return inbound;
  }

  async #send(
    stream: ClientDuplexStream<Buffer, Buffer>,
    outbound: Outbound<unknown>,
    requests: Messages<unknown>,
  ): Promise<void> {
    try {
      if (await outbound.sendAll(requests)) stream.end();
    } catch (error) {
      this.cancel({ error });
    }
  }
}
