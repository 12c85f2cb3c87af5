import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { deferred } from "@stackwright/base/deferred";
import { ClientConnection } from "../../http2/index.ts";
import { formatTarget, type RpcAddress } from "../address.ts";
import type { ChannelWaitOptions, RpcChannel } from "../channel.ts";
import type { RpcCallOptions } from "../client-call.ts";
import { RpcError } from "../rpc-error.ts";
import { MAX_MESSAGE_BYTES } from "../service.ts";
import type { ChannelTls } from "../tls.ts";
import { RequestHeaders } from "./request-headers.ts";
import { SignalWatches } from "./signal-watches.ts";

/** The most headers that a server may send; errors carry their details there. */
const HEADER_BYTES = 1024 * 1024;
/** How many calls wait for a server that takes a limited number at a time. */
const MAX_WAITING_CALLS = 100_000;

/** A channel over frames of its own, without grpc-js. Its contract is that of {@link RpcChannel}. */
export class FrameChannel implements RpcChannel {
  readonly target: string;
  readonly maxMessageBytes: number;
  readonly headers: RequestHeaders;
  readonly #address: RpcAddress;
  readonly #tls: ChannelTls | undefined;
  readonly #signals = new SignalWatches();
  readonly #calls = new Set<(reason: unknown) => void>();
  readonly #connections = new Set<ClientConnection>();
  #current: Connected | undefined;
  #isClosed = false;

  constructor(
    address: RpcAddress,
    init: { readonly tls?: ChannelTls; readonly maxMessageBytes?: number },
  ) {
    this.target = formatTarget(address);
    this.maxMessageBytes = init.maxMessageBytes ?? MAX_MESSAGE_BYTES;
    this.headers = new RequestHeaders(address, init.tls?.serverName, init.tls !== undefined);
    this.#address = address;
    this.#tls = init.tls;
  }

  /** The connection for a call; a new one where there is none. Throws what a call rejects with that cannot start. */
  connect({ signal, ownerSignal }: CallSignals): ClientConnection {
    signal?.throwIfAborted();
    ownerSignal?.throwIfAborted();
    if (this.#isClosed) throw closed();
    this.#current ??= this.#open();
    return this.#current.connection;
  }

  /** Calls `cancel` when a signal aborts or the channel closes, until {@link unwatch}. */
  watch({ signal, ownerSignal }: CallSignals, cancel: (reason: unknown) => void): void {
    this.#calls.add(cancel);
    if (signal !== undefined) this.#signals.add(signal, cancel);
    if (ownerSignal !== undefined) this.#signals.add(ownerSignal, cancel);
  }

  unwatch({ signal, ownerSignal }: CallSignals, cancel: (reason: unknown) => void): void {
    this.#calls.delete(cancel);
    if (signal !== undefined) this.#signals.remove(signal, cancel);
    if (ownerSignal !== undefined) this.#signals.remove(ownerSignal, cancel);
  }

  async waitForReady(options: ChannelWaitOptions & CallSignals = {}): Promise<void> {
    const { timeoutMs } = options;
    const end = Date.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      this.connect(options);
      const { ready } = this.#current as Connected;
      if (await this.#orCanceled(options, end, (settle) => void ready.then(settle))) return;
      const leftMs = Math.max(0, Math.min(pauseMs, end - Date.now()));
      await this.#orCanceled(options, end, (settle) => void setTimeout(settle, leftMs, false));
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const cancel of this.#calls) cancel(closed());
    for (const connection of this.#connections) connection.close(closed());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** What `start` settles with; rejects by the signal, the end of the channel, or the time. */
  async #orCanceled(
    signals: CallSignals,
    end: number,
    start: (settle: (value: boolean) => void) => void,
  ): Promise<boolean> {
    this.connect(signals);
    const { promise, resolve, reject } = deferred<boolean>();
    const leftMs = end - Date.now();
    const late = () =>
      reject(new RpcError("DEADLINE_EXCEEDED", `${this.target} did not become ready`));
    const timer = leftMs < LONGEST_TIMER_MS ? setTimeout(late, Math.max(0, leftMs)) : undefined;
    this.watch(signals, reject);
    start(resolve);
    try {
      return await promise;
    } finally {
      this.unwatch(signals, reject);
      clearTimeout(timer);
    }
  }

  #open(): Connected {
    const { promise: ready, resolve } = deferred<boolean>();
    const opened: { connection?: ClientConnection } = {};
    const connection = new ClientConnection({
      socket: this.#socket(),
      connectedBy: this.#tls === undefined ? "connect" : "secureConnect",
      headerBytes: HEADER_BYTES,
      maxWaiting: MAX_WAITING_CALLS,
      onReady: () => resolve(true),
      onDraining: () => {
        resolve(false);
        if (this.#current?.connection === opened.connection) this.#current = undefined;
      },
      onClosed: () => {
        if (opened.connection !== undefined) this.#connections.delete(opened.connection);
      },
    });
    opened.connection = connection;
    this.#connections.add(connection);
    return { connection, ready };
  }

  #socket(): Socket {
    const target =
      "socketPath" in this.#address
        ? { path: this.#address.socketPath }
        : { host: withoutBrackets(this.#address.host), port: this.#address.port };
    if (this.#tls === undefined) return connectTcp({ ...target, noDelay: true });
    const { trusted, identity, serverName } = this.#tls;
    const name = serverName ?? ("host" in target ? target.host : "localhost");
    const socket = connectTls({
      ...target,
      ALPNProtocols: ["h2"],
      ...(isName(name) && { servername: name }),
      ...(trusted !== undefined && { ca: Buffer.from(trusted) }),
      ...(identity !== undefined && {
        cert: Buffer.from(identity.certificate),
        key: Buffer.from(identity.privateKey),
      }),
    });
    socket.setNoDelay(true);
    return socket;
  }
}

/** What ends a call from this side. */
type CallSignals = Pick<RpcCallOptions, "signal" | "ownerSignal">;

/** A connection, and whether it has become ready; false once it will not. */
interface Connected {
  readonly connection: ClientConnection;
  readonly ready: Promise<boolean>;
}

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 1000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function closed(): RpcError {
  return new RpcError("CANCELLED", "the channel is closed");
}

function withoutBrackets(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}

/** Whether TLS can name the server by it: addresses are not names. */
function isName(host: string): boolean {
  return isIP(host) === 0;
}
