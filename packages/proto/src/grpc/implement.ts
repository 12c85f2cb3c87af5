import type {
  ServiceDefinition as GrpcServiceDefinition,
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
  UntypedHandleCall,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import type { Admit } from "./admission.ts";
import { receiveFrom } from "./inbound.ts";
import { finishSoon, RequestStream } from "./request-stream.ts";
import { sendResponses } from "./send-responses.ts";
import { type HandlerContext, type HandlerOptions, ServerCall } from "./server-call.ts";
import {
  DEFAULT_BUFFER_BYTES,
  type Messages,
  type MethodDefinition,
  passBytes,
  type RequestOf,
  type ResponseOf,
  type ServiceDefinition,
} from "./service.ts";

/** The function that answers calls of a method; it may throw, best an {@link RpcError}. */
export type RpcHandler<M extends MethodDefinition> = M["requestStream"] extends true
  ? M["responseStream"] extends true
    ? StreamHandler<AsyncIterable<RequestOf<M>>, ResponseOf<M>>
    : SingleHandler<AsyncIterable<RequestOf<M>>, ResponseOf<M>>
  : M["responseStream"] extends true
    ? StreamHandler<RequestOf<M>, ResponseOf<M>>
    : SingleHandler<RequestOf<M>, ResponseOf<M>>;

export type SingleHandler<Request, Response> = (
  request: Request,
  context: HandlerContext,
) => Response | Promise<Response>;

/** Its result is iterated no faster than the client reads, and left when the call is cancelled. */
export type StreamHandler<Request, Response> = (
  request: Request,
  context: HandlerContext,
) => Messages<Response>;

/** Handlers for all methods of a service, under the names of the definition. */
export type ServiceImplementation<S extends ServiceDefinition> = {
  readonly [K in keyof S]: RpcHandler<S[K]>;
};

/** A service as grpc-js serves it: `server.addService(definition, implementation)`. */
export interface ServiceBinding {
  readonly definition: GrpcServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
  /** The same for a server over frames. */
  readonly methods: readonly BoundMethod[];
  /** Asked before a call of any of its methods begins; only {@link startServer} does so. */
  readonly admit?: Admit;
  /** The largest request message that it takes, in bytes; see {@link ServerInit.maxRequestBytes}. */
  readonly maxRequestBytes?: number;
}

/** A method with what answers it; absent for one that is not implemented. */
export interface BoundMethod {
  readonly method: MethodDefinition;
  readonly handler: AnySingle | AnyStream | undefined;
  readonly options: HandlerOptions;
}

/** Options of {@link implementService}. */
export interface ServiceOptions extends HandlerOptions {
  /** Decides by its headers whether a call may begin. @default all may */
  readonly admit?: Admit;
  /** The largest request message that the service takes, in bytes. @default that of the server */
  readonly maxRequestBytes?: number;
}

export type AnySingle = SingleHandler<unknown, unknown>;
export type AnyStream = StreamHandler<unknown, unknown>;

/**
 * Turns typed handlers into a service for grpc-js. The handlers are called as methods of
 * `implementation`, which may be an instance of a class; a method without one answers
 * UNIMPLEMENTED. Definition and implementation only work together: messages pass grpc-js encoded.
 * `admit` and `maxRequestBytes` are for {@link startServer}.
 */
export function implementService<S extends ServiceDefinition>(
  service: S,
  implementation: Partial<ServiceImplementation<S>>,
  options: ServiceOptions = {},
): ServiceBinding {
  const definition: Record<string, GrpcServiceDefinition[string]> = {};
  const handlers: Record<string, UntypedHandleCall> = {};
  const methods: BoundMethod[] = [];
  for (const [name, method] of Object.entries(service)) {
    const { path, requestStream, responseStream } = method;
    definition[name] = {
      path,
      requestStream,
      responseStream,
      requestSerialize: passBytes,
      requestDeserialize: passBytes,
      responseSerialize: passBytes,
      responseDeserialize: passBytes,
    };
    const handler: unknown = Reflect.get(implementation, name);
    if (handler !== undefined && typeof handler !== "function") {
      throw new TypeError(`handler ${name} is not a function`);
    }
    const bound: unknown = handler?.bind(implementation);
    methods.push({ method, handler: bound as AnySingle | AnyStream | undefined, options });
    if (bound === undefined) continue;
    handlers[name] = responseStream
      ? streamHandler(method, bound as AnyStream, options)
      : singleHandler(method, bound as AnySingle, options);
  }
  const { admit, maxRequestBytes } = options;
  return {
    definition,
    implementation: handlers,
    methods,
    ...(admit === undefined ? {} : { admit }),
    ...(maxRequestBytes === undefined ? {} : { maxRequestBytes }),
  };
}

function singleHandler(
  method: MethodDefinition,
  handler: AnySingle,
  options: HandlerOptions,
): UntypedHandleCall {
  return (
    grpcCall: ServerUnaryCall<Buffer, Buffer> | ServerReadableStream<Buffer, Buffer>,
    callback: sendUnaryData<Buffer>,
  ): void => {
    const call = new ServerCall(grpcCall, method, options);
    const respond = async (): Promise<void> => {
      try {
        const response = await handler(readRequest(call, grpcCall, options), call);
        const bytes = call.encode(response);
        call.over();
        callback(null, bytes, call.trailer);
      } catch (error) {
        const status = call.failure(error);
        call.over();
        callback(status);
      }
    };
    // Never rejects. The call owns it: no other code waits for it.
    void respond();
  };
}

function streamHandler(
  method: MethodDefinition,
  handler: AnyStream,
  options: HandlerOptions,
): UntypedHandleCall {
  return (
    grpcCall: ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>,
  ): void => {
    const call = new ServerCall(grpcCall, method, options);
    const respond = async (): Promise<void> => {
      try {
        const responses = handler(readRequest(call, grpcCall, options), call);
        const isSent = await sendResponses(call, grpcCall, responses, options.bufferBytes);
        call.over();
        if (isSent) grpcCall.end(call.trailer);
      } catch (error) {
        const status = call.failure(error);
        call.over();
        // This passes the status of a stream to grpc-js, which sends it after the messages.
        if (!call.signal.aborted) grpcCall.emit("error", status);
      }
    };
    void respond();
  };
}

function readRequest(
  call: ServerCall,
  grpcCall:
    | ServerUnaryCall<Buffer, Buffer>
    | ServerReadableStream<Buffer, Buffer>
    | ServerWritableStream<Buffer, Buffer>
    | ServerDuplexStream<Buffer, Buffer>,
  options: HandlerOptions,
): unknown {
  // A stream of responses is an object with `request` too, unless the requests are one as well.
  if ("request" in grpcCall) return call.decode(grpcCall.request);
  const inbound = receiveFrom(grpcCall, options.bufferBytes ?? DEFAULT_BUFFER_BYTES);
  grpcCall.on("end", () => finishSoon(inbound));
  return new RequestStream(call, inbound);
}
