import { GrpcChannel, type RpcChannel } from "./channel.ts";
import { ClientCall, type RpcCallOptions } from "./client-call.ts";
import { ResponseStream } from "./response-stream.ts";
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
  if (!(channel instanceof GrpcChannel)) throw new TypeError("expected a channel of openChannel");
  const methods = Object.entries(service).map(([name, method]) => [
    name,
    (request: unknown, options?: RpcCallOptions) =>
      start(new ClientCall(channel, method, { ...defaults, ...options }), request),
  ]);
  return Object.fromEntries(methods) as RpcClient<S>;
}

function start(call: ClientCall, request: unknown): unknown {
  const { requestStream, responseStream } = call.method;
  if (!requestStream) {
    return responseStream
      ? new ResponseStream(call, { kind: "one", request })
      : callUnary(call, request);
  }
  const requests = request as Messages<unknown>;
  return responseStream
    ? new ResponseStream(call, { kind: "many", requests })
    : callClientStream(call, requests);
}
