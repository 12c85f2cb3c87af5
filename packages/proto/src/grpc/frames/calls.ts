import { deferred } from "@stackwright/base/deferred";
import type { RpcCallOptions } from "../client-call.ts";
import { deadlineOf } from "../deadline.ts";
import { decodeResponse, encodeRequest } from "../message-codec.ts";
import { MessageQueue } from "../message-queue.ts";
import { Outbound } from "../outbound.ts";
import type { StartedStream, StreamRequest } from "../response-stream.ts";
import { RpcError } from "../rpc-error.ts";
import { DEFAULT_BUFFER_BYTES, type Messages, type MethodDefinition } from "../service.ts";
import { Exchange, type ExchangeSink } from "./exchange.ts";
import type { FrameChannel } from "./frame-channel.ts";

/** What a call is made with. */
export interface FrameCall {
  readonly channel: FrameChannel;
  readonly method: MethodDefinition;
  readonly options: RpcCallOptions;
}

/** Calls a method with one request and one response. */
export async function callUnary(call: FrameCall, request: unknown): Promise<unknown> {
  const message = encodeRequest(call.method, request);
  await whenReady(call);
  const response = new SingleResponse(call);
  response.start();
  response.send(message);
  return decodeResponse(call.method, await response.promise);
}

/** Like that of grpc-js: see `callClientStream` in `unary-response.ts`. */
export async function callClientStream(
  call: FrameCall,
  requests: Messages<unknown>,
): Promise<unknown> {
  await whenReady(call);
  const response = new SingleResponse(call);
  response.start();
  const outbound = outboundOf(call, response.exchange);
  const send = async (): Promise<void> => {
    try {
      if (await outbound.sendAll(requests)) response.exchange.endSending();
    } catch (error) {
      response.exchange.cancel(error);
    }
  };
  const sending = send();
  try {
    return decodeResponse(call.method, await response.promise);
  } finally {
    outbound.stop();
    await sending;
  }
}

/** Starts a call whose responses are a stream. */
export function startStream(call: FrameCall, request: StreamRequest): StartedStream {
  return new FrameStream(call, request);
}

function outboundOf({ method, options }: FrameCall, exchange: Exchange): Outbound<unknown> {
  const target = {
    write: (message: Buffer, onSent: () => void) => exchange.send(message, false, onSent),
  };
  const encode = (request: unknown) => encodeRequest(method, request);
  return new Outbound(target, encode, options.bufferBytes ?? DEFAULT_BUFFER_BYTES);
}

async function whenReady({ channel, options }: FrameCall): Promise<void> {
  if (options.waitForReady !== true) return;
  const { signal, ownerSignal } = options;
  const timeoutMs = deadlineOf(options) - Date.now();
  await channel.waitForReady({
    ...(signal && { signal }),
    ...(ownerSignal && { ownerSignal }),
    ...(Number.isFinite(timeoutMs) && { timeoutMs }),
  });
}

class SingleResponse implements ExchangeSink {
  readonly isFull = false;
  readonly exchange: Exchange;
  readonly promise: Promise<Buffer>;
  readonly #path: string;
  readonly #resolve: (message: Buffer) => void;
  readonly #reject: (reason: unknown) => void;
  #message: Buffer | undefined;

  constructor({ channel, method, options }: FrameCall) {
    const { promise, resolve, reject } = deferred<Buffer>();
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#path = method.path;
    this.exchange = new Exchange(channel, method, options, this);
  }

  start(): void {
    this.exchange.start();
  }

  send(message: Buffer): void {
    try {
      this.exchange.send(message, true);
    } catch (error) {
      this.exchange.cancel(error);
    }
  }

  onMessage(message: Buffer): void {
    if (this.#message === undefined) this.#message = message;
    else this.exchange.cancel(new RpcError("INTERNAL", `${this.#path} has more than one response`));
  }

  onEnd(outcome: { readonly error?: unknown }): void {
    if ("error" in outcome) this.#reject(outcome.error);
    else if (this.#message !== undefined) this.#resolve(this.#message);
    else this.#reject(new RpcError("INTERNAL", `${this.#path} ended without a response`));
  }
}

class FrameStream implements StartedStream, ExchangeSink {
  readonly inbound: MessageQueue;
  readonly #call: FrameCall;
  readonly #exchange: Exchange;
  #outbound: Outbound<unknown> | undefined;

  /** Throws what a call rejects with that cannot start. */
  constructor(call: FrameCall, request: StreamRequest) {
    const { channel, method, options } = call;
    this.#call = call;
    this.#exchange = new Exchange(channel, method, options, this);
    this.inbound = new MessageQueue(options.bufferBytes ?? DEFAULT_BUFFER_BYTES, () =>
      this.#exchange.resume(),
    );
    const message = request.kind === "one" ? encodeRequest(method, request.request) : undefined;
    if (options.waitForReady === true) void this.#startWhenReady(request, message);
    else this.#start(request, message);
  }

  get isFull(): boolean {
    return this.inbound.isFull;
  }

  onMessage(message: Buffer): void {
    this.inbound.push(message);
  }

  onEnd(outcome: { readonly error?: unknown }, isCanceled: boolean): void {
    this.#outbound?.stop();
    if (isCanceled) {
      this.inbound.abandon(outcome);
      return;
    }
    this.inbound.finish(outcome);
    // What has come and was not taken yet is not wanted any more once the signal aborts.
    this.#call.channel.watch(this.#call.options, this.#drop);
  }

  cancel(outcome: { readonly error?: unknown }): void {
    this.#call.channel.unwatch(this.#call.options, this.#drop);
    this.#exchange.abandon(outcome);
  }

  readonly #drop = (reason: unknown): void => {
    this.#call.channel.unwatch(this.#call.options, this.#drop);
    this.inbound.abandon({ error: reason });
  };

  #start(request: StreamRequest, message: Buffer | undefined): void {
    this.#exchange.start();
    if (message !== undefined) {
      this.#send(message);
    } else if (request.kind === "many") {
      this.#outbound = outboundOf(this.#call, this.#exchange);
      // Never rejects, and ends with the call.
      void this.#sendAll(this.#outbound, request.requests);
    }
  }

  async #startWhenReady(request: StreamRequest, message: Buffer | undefined): Promise<void> {
    try {
      await whenReady(this.#call);
      if (!this.#exchange.hasEnded) this.#start(request, message);
    } catch (error) {
      this.#exchange.cancel(error);
    }
  }

  #send(message: Buffer): void {
    try {
      this.#exchange.send(message, true);
    } catch (error) {
      this.#exchange.cancel(error);
    }
  }

  async #sendAll(outbound: Outbound<unknown>, requests: Messages<unknown>): Promise<void> {
    try {
      if (await outbound.sendAll(requests)) this.#exchange.endSending();
    } catch (error) {
      this.#exchange.cancel(error);
    }
  }
}
