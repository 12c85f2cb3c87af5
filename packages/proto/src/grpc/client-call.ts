import {
  type Client,
  type CallOptions as GrpcCallOptions,
  type Metadata,
  type ServiceError,
  status as Status,
  type StatusObject,
} from "@grpc/grpc-js";
import type { GrpcChannel } from "./channel.ts";
import { deadlineOf } from "./deadline.ts";
import { createMetadata, type MetadataInit } from "./metadata.ts";
import { RpcError } from "./rpc-error.ts";
import { DEFAULT_BUFFER_BYTES, type MethodDefinition } from "./service.ts";

export interface RpcCallOptions {
  /** Cancels the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Like `signal`, of what owns many calls and ends them all with itself. */
  readonly ownerSignal?: AbortSignal;
  /**
   * The deadline of the call, which is also sent to the server. After it the call rejects with DEADLINE_EXCEEDED.
   * @default no limit
   */
  readonly deadline?: Date;
  /** Like `deadline`, from now; the earlier of both counts. */
  readonly timeoutMs?: number;
  /** Sent with the call. */
  readonly metadata?: MetadataInit;
  /**
   * Waits for a connection instead of failing with UNAVAILABLE when there is none.
   * @default false
   */
  readonly waitForReady?: boolean;
  /** Is given the response's leading metadata. */
  readonly onHeader?: (header: Metadata) => void;
  /** Is given the response's trailing metadata, of a failed call too. */
  readonly onTrailer?: (trailer: Metadata) => void;
  /**
   * How many bytes of messages of a stream wait on this side, in each direction, before the sender
   * has to wait: received ones for the consumer, and ones to send for the server.
   * @default 1 MiB
   */
  readonly bufferBytes?: number;
}

/** The parts of grpc-js's call objects that all four shapes of calls have. */
export interface GrpcCall {
  cancel(): void;
  on(event: "metadata", listener: (metadata: Metadata) => void): unknown;
  on(event: "status", listener: (status: StatusObject) => void): unknown;
}

/** One call of a method: what has to be known to start it, and the end of it. */
export class ClientCall {
  readonly method: MethodDefinition;
  readonly bufferBytes: number;
  /** What grpc-js reports besides the status; it has the stack of the caller. */
  failure: ServiceError | undefined;
  readonly #channel: GrpcChannel;
  readonly #options: RpcCallOptions;
  readonly #signal: AbortSignal | undefined;
  #release: (() => void) | undefined;

  constructor(channel: GrpcChannel, method: MethodDefinition, options: RpcCallOptions) {
    this.method = method;
    this.bufferBytes = options.bufferBytes ?? DEFAULT_BUFFER_BYTES;
    this.#channel = channel;
    this.#options = options;
    const { signal, ownerSignal } = options;
    this.#signal =
      signal !== undefined && ownerSignal !== undefined
        ? AbortSignal.any([signal, ownerSignal])
        : (signal ?? ownerSignal);
  }

  get metadata(): Metadata {
    const metadata = createMetadata(this.#options.metadata);
    if (this.#options.waitForReady === true) metadata.setOptions({ waitForReady: true });
    return metadata;
  }

  get grpcOptions(): GrpcCallOptions {
    const { deadline, timeoutMs } = this.#options;
    if (deadline === undefined && timeoutMs === undefined) return {};
    return { deadline: deadlineOf(this.#options) };
  }

  /** The connection to start the call on; see {@link GrpcChannel.open}. */
  open(): Client {
    return this.#channel.open(this.#signal);
  }

  /**
   * Watches a started call until {@link end}. `onStatus` receives the error that the
   * call ended with, if any. `onCancelled` receives the reason why the call, or what is left of it
   * after its status, is no longer needed; it comes last, and the call is canceled.
   */
  watch(
    call: GrpcCall,
    onStatus: (error: RpcError | undefined) => void,
    onCancelled: (reason: unknown) => void,
  ): void {
    const { onHeader, onTrailer } = this.#options;
    const cancel = (reason: unknown): void => {
      if (!this.end()) return;
      onCancelled(reason);
      call.cancel();
    };
    const show = (metadata: Metadata, to: ((metadata: Metadata) => void) | undefined): void => {
      try {
        to?.(metadata);
      } catch (error) {
        cancel(error);
      }
    };
    this.#release = this.#channel.onCancel(this.#signal, cancel);
    if (onHeader !== undefined) call.on("metadata", (metadata) => show(metadata, onHeader));
    call.on("status", (status) => {
      show(status.metadata, onTrailer);
      if (this.#release === undefined) return;
      onStatus(status.code === Status.OK ? undefined : RpcError.from(this.failure ?? status));
    });
  }

  /** Ends the watch; false when it has ended already. */
  end(): boolean {
    const release = this.#release;
    this.#release = undefined;
    release?.();
    return release !== undefined;
  }
}
