import type { ServiceError } from "@grpc/grpc-js";
import { deferred } from "@stackwright/base/deferred";
import type { ClientCall, GrpcCall } from "./client-call.ts";
import { decodeResponse, encodeRequest } from "./message-codec.ts";
import { Outbound } from "./outbound.ts";
import { RpcError } from "./rpc-error.ts";
import { type Messages, passBytes } from "./service.ts";

/** Calls a method with one request and one response. */
export async function callUnary(call: ClientCall, request: unknown): Promise<unknown> {
  const response = new SingleResponse(call);
  const stream = call
    .open()
    .makeUnaryRequest(
      call.method.path,
      passBytes,
      passBytes,
      encodeRequest(call.method, request),
      call.metadata,
      call.grpcOptions,
      response.receive,
    );
  return decodeResponse(call.method, await response.of(stream));
}

/**
 * Calls a method with a stream of requests and one response. When the response comes first, the
 * source of the requests is stopped by its `return`. When the source throws, the call is cancelled
 * and the promise rejects with what it threw.
 */
export async function callClientStream(
  call: ClientCall,
  requests: Messages<unknown>,
): Promise<unknown> {
  const response = new SingleResponse(call);
  const stream = call
    .open()
    .makeClientStreamRequest(
      call.method.path,
      passBytes,
      passBytes,
      call.metadata,
      call.grpcOptions,
      response.receive,
    );
  const outbound = new Outbound(
    stream,
    (request) => encodeRequest(call.method, request),
    call.bufferBytes,
  );
  const received = response.of(stream);
  const send = async (): Promise<void> => {
    try {
      if (await outbound.sendAll(requests)) stream.end();
    } catch (error) {
      response.cancel(stream, error);
    }
  };
  const sending = send();
  try {
    return decodeResponse(call.method, await received);
  } finally {
    outbound.stop();
    await sending;
  }
}

/** The response of a call, from the parts in which grpc-js reports it. */
class SingleResponse {
  readonly #call: ClientCall;
  readonly #settled = deferred<Buffer>();
  #message: Buffer | undefined;

  constructor(call: ClientCall) {
    this.#call = call;
  }

  /** The callback for grpc-js. The status, which follows at once, decides. */
  readonly receive = (error: ServiceError | null, message?: Buffer): void => {
    this.#message = message;
    if (error !== null) this.#call.failure = error;
  };

  of(stream: GrpcCall): Promise<Buffer> {
    const { resolve, reject } = this.#settled;
    const { path } = this.#call.method;
    this.#call.watch(
      stream,
      (error) => {
        this.#call.end();
        if (error !== undefined) reject(error);
        else if (this.#message !== undefined) resolve(this.#message);
        else reject(new RpcError("INTERNAL", `${path} ended without a response`));
      },
      reject,
    );
    return this.#settled.promise;
  }

  cancel(stream: GrpcCall, reason: unknown): void {
    if (!this.#call.end()) return;
    this.#settled.reject(reason);
    stream.cancel();
  }
}
