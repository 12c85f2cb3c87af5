import { createClient, type RpcChannel, RpcError } from "@stackwright/proto/grpc";
import { TfpluginError } from "../errors.ts";
import type { PluginTransport, TransportCall } from "./plugin-transport.ts";

interface GrpcTransportOptions {
  readonly channel: RpcChannel;
  readonly protocol: 5 | 6;
  /** Program or address of the provider, for messages. */
  readonly name: string;
  /**
   * Says what a lost connection means: an error that says more, such as that the process has ended; or undefined.
   * Asked before a call begins (without an error) and after one has failed.
   */
  readonly explain?: (lost: RpcError | undefined) => Promise<TfpluginError | undefined>;
  /** Ends what serves the connection. Called once, after the calls under way were rejected. @default closes the channel */
  readonly onClose?: () => Promise<void>;
}

/**
 * A transport over a gRPC connection. Messages pass as they are, undecoded.
 *
 * Calls reject with the reason of their signal or a `TfpluginError`: `TFPLUGIN_CLOSED`,
 * `TFPLUGIN_METHOD_UNIMPLEMENTED`, `TFPLUGIN_MESSAGE_TOO_LARGE`, `TFPLUGIN_CONNECTION_LOST`, `TFPLUGIN_CALL_FAILED`
 * (any other status; such a provider is broken, what it has to say belongs into diagnostics), and what `explain` says.
 *
 * Source: Terraform plugin protocol 5 and 6, services `tfplugin5.Provider` and `tfplugin6.Provider`.
 */
export function createGrpcTransport(options: GrpcTransportOptions): PluginTransport {
  return new GrpcTransport(options);
}

class GrpcTransport implements PluginTransport {
  readonly protocol: 5 | 6;
  readonly #options: GrpcTransportOptions;
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(options: GrpcTransportOptions) {
    this.protocol = options.protocol;
    this.#options = options;
  }

  async unary(method: string, request: Uint8Array, call: TransportCall): Promise<Uint8Array> {
    const signal = await this.#begin(call);
    const { channel } = this.#options;
    const path = this.#path(method);
    try {
      const unary = { path, requestStream: false, responseStream: false, ...PASS } as const;
      return await createClient({ unary }, channel).unary(request, { signal });
    } catch (error) {
      throw await this.#failure(method, error, call);
    }
  }

  readonly stream = (
    method: string,
    request: Uint8Array,
    call: TransportCall,
  ): AsyncIterable<Uint8Array> => this.#stream(method, request, call);

  async *#stream(
    method: string,
    request: Uint8Array,
    call: TransportCall,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const signal = await this.#begin(call);
    const { channel } = this.#options;
    const path = this.#path(method);
    try {
      const stream = { path, requestStream: false, responseStream: true, ...PASS } as const;
      yield* createClient({ stream }, channel).stream(request, { signal });
    } catch (error) {
      throw await this.#failure(method, error, call);
    }
  }

  readonly clientStream = async (
    method: string,
    requests: AsyncIterable<Uint8Array>,
    call: TransportCall,
  ): Promise<Uint8Array> => {
    const signal = await this.#begin(call);
    const { channel } = this.#options;
    const path = this.#path(method);
    try {
      const send = { path, requestStream: true, responseStream: false, ...PASS } as const;
      return await createClient({ send }, channel).send(requests, { signal });
    } catch (error) {
      throw await this.#failure(method, error, call);
    }
  };

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closed.abort(closedError(this.#options.name));
    await (this.#options.onClose ?? (() => this.#options.channel.close()))();
  }

  async #begin({ signal }: TransportCall): Promise<AbortSignal> {
    const closed = this.#closed.signal;
    signal?.throwIfAborted();
    if (closed.aborted) throw closedError(this.#options.name, "not-applied");
    const explained = await this.#options.explain?.(undefined);
    if (explained !== undefined) throw explained;
    return signal === undefined ? closed : AbortSignal.any([closed, signal]);
  }

  #path(method: string): string {
    if (!/^[A-Za-z]\w*$/.test(method))
      throw new TypeError(`"${method}" is not a valid method name`);
    return `/tfplugin${this.protocol}.Provider/${method}`;
  }

  async #failure(method: string, error: unknown, { signal }: TransportCall): Promise<unknown> {
    if (signal?.aborted === true || this.#closed.signal.aborted) return error;
    if (!(error instanceof RpcError)) return error;
    const { name } = this.#options;
    const options = { cause: error, provider: name, subject: method };
    const text = `${name} answered ${method} with ${error.message}`;
    if (error.code === "UNIMPLEMENTED") {
      const unimplemented = { ...options, outcome: "not-applied" } as const;
      return new TfpluginError("TFPLUGIN_METHOD_UNIMPLEMENTED", text, unimplemented);
    }
    if (error.code === "RESOURCE_EXHAUSTED") {
      return new TfpluginError("TFPLUGIN_MESSAGE_TOO_LARGE", text, options);
    }
    if (MAY_BE_LOST.has(error.code)) {
      const explained = await this.#options.explain?.(error);
      if (explained !== undefined) return explained;
    }
    const isLost = error.code === "UNAVAILABLE";
    return new TfpluginError(
      isLost ? "TFPLUGIN_CONNECTION_LOST" : "TFPLUGIN_CALL_FAILED",
      text,
      options,
    );
  }
}

/** What grpc-js reports when the other side goes away. */
const MAY_BE_LOST: ReadonlySet<string> = new Set(["UNAVAILABLE", "CANCELLED", "INTERNAL"]);

const pass = (bytes: Uint8Array): Uint8Array => bytes;
/** Messages are encoded by the caller. */
const PASS = {
  requestSerialize: pass,
  requestDeserialize: pass,
  responseSerialize: pass,
  responseDeserialize: pass,
};

function closedError(name: string, outcome?: "not-applied"): TfpluginError {
  return new TfpluginError("TFPLUGIN_CLOSED", `the connection to ${name} was closed`, {
    provider: name,
    ...(outcome !== undefined && { outcome }),
  });
}
