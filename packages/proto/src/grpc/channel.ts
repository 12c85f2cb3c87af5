import { type ChannelOptions, Client } from "@grpc/grpc-js";
import { deferred } from "@stackwright/base/deferred";
import { formatTarget, type RpcAddress } from "./address.ts";
import { FrameChannel } from "./frames/frame-channel.ts";
import { RpcError } from "./rpc-error.ts";
import { MAX_MESSAGE_BYTES } from "./service.ts";
import { type ChannelTls, channelCredentials, tlsChannelOptions } from "./tls.ts";

export interface ChannelInit {
  /** Encrypts and authenticates; without it the connection is in the clear. */
  readonly tls?: ChannelTls;
  /**
   * The largest message, in bytes, to send or receive.
   * @default 400 MiB
   */
  readonly maxMessageBytes?: number;
  /**
   * What carries the calls. `frames` is HTTP/2 of this package: a call costs a fraction of the processor time, for long-lived
   * connections to a server nearby. It takes an address in parts, no `options`, no proxy, and connects again at once.
   * @default "grpc-js"
   */
  readonly carrier?: "grpc-js" | "frames";
  /** Further options for grpc-js, which win over those set here. */
  readonly options?: ChannelOptions;
}

export interface ChannelWaitOptions {
  readonly signal?: AbortSignal;
  /** @default no limit */
  readonly timeoutMs?: number;
}

/**
 * A connection to one server, shared by the clients of all its services. It connects with the
 * first call and again after a loss; a call that finds no connection fails with UNAVAILABLE.
 */
export interface RpcChannel extends AsyncDisposable {
  /** The address as grpc-js has it. */
  readonly target: string;

  /**
   * Resolves when there is a connection. Rejects with DEADLINE_EXCEEDED, with the signal's reason,
   * or with CANCELLED when the channel is closed.
   */
  waitForReady(options?: ChannelWaitOptions): Promise<void>;

  /** Ends all calls with CANCELLED, and then the connection. May be called again. */
  close(): Promise<void>;
}

/** Makes a channel to a server. Nothing is sent before the first call. */
export function openChannel(address: RpcAddress | string, init: ChannelInit = {}): RpcChannel {
  if (init.carrier === "frames") {
    if (typeof address === "string") throw new TypeError("frames take an address in parts");
    if (init.options !== undefined) throw new TypeError("options are for grpc-js");
    return new FrameChannel(address, init);
  }
  return new GrpcChannel(typeof address === "string" ? address : formatTarget(address), init);
}

/** How often a wait for a connection looks whether it is still wanted. */
const WAIT_SLICE_MS = 250;

/** Targets of this machine, in the forms of `formatTarget` and of grpc-js. */
const LOOPBACK = /^(?:dns:(?:\/*)|ipv[46]:)?(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/i;

/** What the clients of this package see of a channel. */
export class GrpcChannel implements RpcChannel {
  readonly target: string;
  readonly #client: Client;
  readonly #calls = new Set<(reason: unknown) => void>();
  #isClosed = false;

  constructor(target: string, init: ChannelInit) {
    const { tls, maxMessageBytes = MAX_MESSAGE_BYTES } = init;
    this.target = target;
    this.#client = new Client(target, channelCredentials(tls), {
      "grpc.max_receive_message_length": maxMessageBytes,
      "grpc.max_send_message_length": maxMessageBytes,
      // No proxy leads to this machine, and grpc-js would ask one of the environment for it.
      ...(LOOPBACK.test(target) && { "grpc.enable_http_proxy": 0 }),
      ...tlsChannelOptions(tls),
      ...init.options,
    });
  }

  /** The connection, for starting a call. Throws what a call rejects with that cannot start. */
  open(signal: AbortSignal | undefined): Client {
    signal?.throwIfAborted();
    if (this.#isClosed) throw closed();
    return this.#client;
  }

  /**
   * Calls `cancel` once when `signal` aborts or the channel closes. The result ends that, and has
   * to be called when the call has ended.
   */
  onCancel(signal: AbortSignal | undefined, cancel: (reason: unknown) => void): () => void {
    const onAbort = (): void => cancel(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#calls.add(cancel);
    return () => {
      signal?.removeEventListener("abort", onAbort);
      this.#calls.delete(cancel);
    };
  }

  async waitForReady(options: ChannelWaitOptions = {}): Promise<void> {
    const { signal, timeoutMs = Number.POSITIVE_INFINITY } = options;
    const end = Date.now() + timeoutMs;
    // grpc-js cannot cancel a wait, so each wait is short.
    while (!(await this.#isReadyBy(signal, Math.min(end, Date.now() + WAIT_SLICE_MS)))) {
      if (Date.now() >= end) {
        throw new RpcError("DEADLINE_EXCEEDED", `${this.target} did not become ready`);
      }
    }
  }

  async #isReadyBy(signal: AbortSignal | undefined, deadline: number): Promise<boolean> {
    const client = this.open(signal);
    const { promise, resolve, reject } = deferred<boolean>();
    const release = this.onCancel(signal, reject);
    client.waitForReady(deadline, (error) => resolve(error === undefined));
    try {
      return await promise;
    } finally {
      release();
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const cancel of this.#calls) cancel(closed());
    this.#client.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function closed(): RpcError {
  return new RpcError("CANCELLED", "the channel is closed");
}
