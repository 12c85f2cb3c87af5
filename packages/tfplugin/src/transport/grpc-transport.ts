import {
  createClient,
  type RpcCallOptions,
  type RpcChannel,
  type RpcClient,
  RpcError,
} from "@stackwright/proto/grpc";
import { TfpluginError } from "../errors.ts";
import type { PluginTransport, TransportCall } from "./plugin-transport.ts";

interface GrpcTransportOptions {
  readonly channel: RpcChannel;
  readonly protocol: 5 | 6;
  /** Program or address of the provider, for messages. */
  readonly name: string;
  /** Why no call can begin any more. Asked before each. */
  readonly ended?: () => TfpluginError | undefined;
  /** Says more of a lost connection, such as that the process has ended. Asked after a call has failed. */
  readonly explain?: (lost: RpcError) => Promise<TfpluginError | undefined>;
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
  readonly #methods = new Map<string, MethodCalls>();
  #closing: Promise<void> | undefined;

  constructor(options: GrpcTransportOptions) {
    this.protocol = options.protocol;
    this.#options = options;
  }

  async unary(method: string, request: Uint8Array, call: TransportCall): Promise<Uint8Array> {
    this.#begin(call);
    try {
      return await this.#method(method).unary(request, this.#signals(call));
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
    this.#begin(call);
    try {
      yield* this.#method(method).stream(request, this.#signals(call));
    } catch (error) {
      throw await this.#failure(method, error, call);
    }
  }

  readonly clientStream = async (
    method: string,
    requests: AsyncIterable<Uint8Array>,
    call: TransportCall,
  ): Promise<Uint8Array> => {
    this.#begin(call);
    try {
      return await this.#method(method).send(requests, this.#signals(call));
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

  #begin({ signal }: TransportCall): void {
    signal?.throwIfAborted();
    if (this.#closed.signal.aborted) throw closedError(this.#options.name, "not-applied");
    const ended = this.#options.ended?.();
    if (ended !== undefined) throw ended;
  }

  #signals({ signal }: TransportCall): RpcCallOptions {
    const ownerSignal = this.#closed.signal;
    return signal === undefined ? { ownerSignal } : { signal, ownerSignal };
  }

  /** A method in each shape that it may have. */
  #method(name: string): MethodCalls {
    const known = this.#methods.get(name);
    if (known !== undefined) return known;
    if (!/^[A-Za-z]\w*$/.test(name)) throw new TypeError(`"${name}" is not a valid method name`);
    const path = `/tfplugin${this.protocol}.Provider/${name}`;
    const calls = createClient(methodsAt(path), this.#options.channel);
    this.#methods.set(name, calls);
    return calls;
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
    return new TfpluginError(isLost ? "TFPLUGIN_CONNECTION_LOST" : "TFPLUGIN_CALL_FAILED", text, {
      ...options,
      ...(error.unprocessed && { outcome: "not-applied" }),
    });
  }
}

/** What is reported when the other side goes away. */
const MAY_BE_LOST: ReadonlySet<string> = new Set(["UNAVAILABLE", "CANCELLED", "INTERNAL"]);

const pass = (bytes: Uint8Array): Uint8Array => bytes;
/** Messages are encoded by the caller. */
const PASS = {
  requestSerialize: pass,
  requestDeserialize: pass,
  responseSerialize: pass,
  responseDeserialize: pass,
};

function methodsAt(path: string) {
  return {
    unary: { path, requestStream: false, responseStream: false, ...PASS },
    stream: { path, requestStream: false, responseStream: true, ...PASS },
    send: { path, requestStream: true, responseStream: false, ...PASS },
  } as const;
}

type MethodCalls = RpcClient<ReturnType<typeof methodsAt>>;

function closedError(name: string, outcome?: "not-applied"): TfpluginError {
  return new TfpluginError("TFPLUGIN_CLOSED", `the connection to ${name} was closed`, {
    provider: name,
    ...(outcome !== undefined && { outcome }),
  });
}
