import type { EventEmitter } from "node:events";
import type { PeerCertificate } from "node:tls";
import { Metadata } from "@grpc/grpc-js";
import { statusOfFailure } from "./call-failure.ts";
import { decodeRequest, encodeResponse } from "./message-codec.ts";
import { RpcError, type RpcStatus } from "./rpc-error.ts";
import type { MethodDefinition } from "./service.ts";

/** What a handler receives about the call, and its means to add metadata to the response. */
export interface HandlerContext {
  /**
   * Aborts when the client no longer waits for the response; the reason is an RpcError with code
   * CANCELLED or DEADLINE_EXCEEDED.
   */
  readonly signal: AbortSignal;
  /** What the client sent with the call. */
  readonly metadata: Metadata;
  /** When the call has to be over; undefined when the client set no limit. */
  readonly deadline: Date | undefined;
  /** Path of the method. */
  readonly method: string;
  /** Address of the client, as grpc-js has it, and with mutual TLS its certificate. */
  readonly peer: { readonly address: string; readonly certificate?: PeerCertificate };
  /** Sends leading metadata, once, before the first response. */
  sendHeader(header: Metadata): void;
  /** Sent after the response. */
  readonly trailer: Metadata;
}

/** The parts of grpc-js's server call objects that all four shapes of calls have. */
interface GrpcServerCall extends EventEmitter {
  readonly metadata: Metadata;
  readonly cancelled: boolean;
  getPeer(): string;
  getPath(): string;
  getDeadline(): Date | number;
  getAuthContext(): { readonly sslPeerCertificate?: PeerCertificate };
  sendMetadata(metadata: Metadata): void;
}

export interface HandlerOptions {
  /**
   * Converts an error that a handler throws to the one that the client receives.
   * @default RpcError.from
   */
  readonly mapError?: (error: unknown, context: HandlerContext) => RpcError;
  /** Is given every error that a call fails with, as it was thrown, for the log. */
  readonly onError?: (error: unknown, context: HandlerContext) => void;
  /**
   * How many bytes of messages of a stream wait on this side, in each direction, before the sender
   * has to wait.
   * @default 1 MiB
   */
  readonly bufferBytes?: number;
}

/** One call of a method on the server: its context, and the conversions that can fail. */
export class ServerCall implements HandlerContext {
  readonly trailer = new Metadata();
  readonly #call: GrpcServerCall;
  readonly #definition: MethodDefinition;
  readonly #options: HandlerOptions;
  readonly #controller = new AbortController();
  #isOver = false;

  constructor(call: GrpcServerCall, definition: MethodDefinition, options: HandlerOptions) {
    this.#call = call;
    this.#definition = definition;
    this.#options = options;
    if (call.cancelled) this.#cancel();
    else call.once("cancelled", this.#cancel);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get metadata(): Metadata {
    return this.#call.metadata;
  }

  get method(): string {
    return this.#definition.path;
  }

  get deadline(): Date | undefined {
    const deadline = this.#call.getDeadline();
    if (deadline instanceof Date) return deadline;
    return Number.isFinite(deadline) ? new Date(deadline) : undefined;
  }

  get peer(): HandlerContext["peer"] {
    const address = this.#call.getPeer();
    const { sslPeerCertificate: certificate } = this.#call.getAuthContext();
    return certificate === undefined ? { address } : { address, certificate };
  }

  sendHeader(header: Metadata): void {
    this.#call.sendMetadata(header);
  }

  readonly #cancel = (): void => {
    // grpc-js reports the end of every call as its cancellation.
    if (this.#isOver) return;
    const { deadline } = this;
    const isLate = deadline !== undefined && deadline.getTime() <= Date.now();
    this.#controller.abort(
      isLate
        ? new RpcError("DEADLINE_EXCEEDED", "the deadline of the call has passed")
        : new RpcError("CANCELLED", "the client canceled the call or disconnected"),
    );
  };

  /** The call has its outcome: nothing cancels it any more. */
  over(): void {
    this.#isOver = true;
    this.#call.off("cancelled", this.#cancel);
  }

  decode(request: Buffer): unknown {
    return decodeRequest(this.#definition, request);
  }

  encode(response: unknown): Buffer {
    return encodeResponse(this.#definition, response);
  }

  /** The status of an error for grpc-js, with the trailer of the call. */
  failure(error: unknown): RpcStatus {
    return statusOfFailure(error, this, this.#options);
  }
}
