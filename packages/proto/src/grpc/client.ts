import { GrpcChannel, type RpcChannel } from "./channel.ts";
import { ClientCall, type RpcCallOptions } from "./client-call.ts";
import * as frames from "./frames/calls.ts";
import { FrameChannel } from "./frames/frame-channel.ts";
import { GrpcStream, ResponseStream, type StreamRequest } from "./response-stream.ts";
import type {
  Messages,
  MethodDefinition,
  RequestOf,
  ResponseOf,
  ServiceDefinition,
} from "./service.ts";
import { callClientStream, callUnary } from "./unary-response.ts";

/** The function by which a method is called. */
export type ClientMethod<M extends MethodDefinition> = M["requestStream"] extends true
  ? M["responseStream"] extends true
    ? (requests: Messages<RequestOf<M>>, options?: RpcCallOptions) => ResponseStream<ResponseOf<M>>
    : (requests: Messages<RequestOf<M>>, options?: RpcCallOptions) => Promise<ResponseOf<M>>
  : M["responseStream"] extends true
    ? (request: RequestOf<M>, options?: RpcCallOptions) => ResponseStream<ResponseOf<M>>
    : (request: RequestOf<M>, options?: RpcCallOptions) => Promise<ResponseOf<M>>;

/** A client of a service: one function per method, under the names of the definition. */
export type RpcClient<S extends ServiceDefinition> = {
  readonly [K in keyof S]: ClientMethod<S[K]>;
};

/**
 * Makes a client of a service on a channel, from the definition that ts-proto generates. It holds
 * nothing: closing is up to the channel. Calls reject with an {@link RpcError}, or with the reason
 * of their signal. `defaults` apply to every call that does not say otherwise.
 */
export function createClient<S extends ServiceDefinition>(
  service: S,
  channel: RpcChannel,
  defaults: RpcCallOptions = {},
): RpcClient<S> {
  const start = starterOf(channel);
  const methods = Object.entries(service).map(([name, method]) => [
    name,
    (request: unknown, options?: RpcCallOptions) =>
      start(method, options === undefined ? defaults : { ...defaults, ...options }, request),
  ]);
  return Object.fromEntries(methods) as RpcClient<S>;
}

/** Starts a call of a method, and returns what its shape has: a promise or a stream. */
type StartCall = (method: MethodDefinition, options: RpcCallOptions, request: unknown) => unknown;

function starterOf(channel: RpcChannel): StartCall {
  if (channel instanceof FrameChannel) return startsOn(channel);
  if (!(channel instanceof GrpcChannel)) throw new TypeError("expected a channel of openChannel");
  return (method, options, request) => start(new ClientCall(channel, method, options), request);
}

function startsOn(channel: FrameChannel): StartCall {
  return (method, options, request) => {
    const call = { channel, method, options };
    const { requestStream, responseStream } = method;
    if (responseStream) {
      const given = streamRequest(method, request);
      return new ResponseStream(method, () => frames.startStream(call, given));
    }
    return requestStream
      ? frames.callClientStream(call, request as Messages<unknown>)
      : frames.callUnary(call, request);
  };
}

function start(call: ClientCall, request: unknown): unknown {
  const { method } = call;
  if (method.responseStream) {
    const given = streamRequest(method, request);
    return new ResponseStream(method, () => new GrpcStream(call, given));
  }
  return method.requestStream
    ? callClientStream(call, request as Messages<unknown>)
    : callUnary(call, request);
}

function streamRequest({ requestStream }: MethodDefinition, request: unknown): StreamRequest {
  return requestStream
    ? { kind: "many", requests: request as Messages<unknown> }
    : { kind: "one", request };
}
