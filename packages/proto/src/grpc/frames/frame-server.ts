import { createServer, type Server, type Socket } from "node:net";
import { deferred } from "@stackwright/base/deferred";
import { ServerConnection } from "../../http2/index.ts";
import { formatListenAddress, type RpcAddress } from "../address.ts";
import { RpcError } from "../rpc-error.ts";
import type { CloseOptions, RpcServer } from "../server.ts";
import { type CallHost, ServedCall, type ServedMethod } from "./served-call.ts";

/** The most headers that a client may send; its metadata is there. */
const HEADER_BYTES = 64 * 1024;
/** How many calls a connection may have open where nothing else is said. */
const DEFAULT_CALLS = 100_000;

interface FrameServerInit {
  readonly address: RpcAddress;
  readonly methods: ReadonlyMap<string, ServedMethod>;
  readonly maxRequestBytes: number;
  readonly maxResponseBytes: number;
  readonly maxConcurrentCalls: number | undefined;
}

/** A server over frames of its own, without grpc-js, in the clear. Its contract is that of {@link RpcServer}. */
export class FrameServer implements RpcServer {
  readonly address: RpcAddress;
  readonly #server: Server;
  readonly #init: FrameServerInit;
  readonly #connections = new Set<ServerConnection>();
  #closing: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  static async start(init: FrameServerInit): Promise<FrameServer> {
    const server = createServer({ noDelay: true });
    const { promise, resolve, reject } = deferred<void>();
    const target = formatListenAddress(init.address);
    server.once("error", (cause) =>
      reject(new RpcError("UNAVAILABLE", `cannot listen on ${target}`, { cause })),
    );
    server.listen(listenOptions(init.address), resolve);
    await promise;
    return new FrameServer(server, init);
  }

  private constructor(server: Server, init: FrameServerInit) {
    this.#server = server;
    this.#init = init;
    const bound = server.address();
    this.address =
      "socketPath" in init.address || bound === null || typeof bound === "string"
        ? init.address
        : { ...init.address, port: bound.port };
    server.on("connection", this.#onConnection);
    // One connection that could not be accepted ends no other one.
    server.on("error", () => undefined);
  }

  replaceTls(): void {
    throw new RpcError("FAILED_PRECONDITION", "the server was started without TLS");
  }

  close(options: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(options.graceMs ?? 0);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  readonly #onConnection = (socket: Socket): void => {
    const { methods, maxRequestBytes, maxResponseBytes, maxConcurrentCalls } = this.#init;
    const peer = peerOf(socket);
    const host: CallHost = { methods, maxRequestBytes, maxResponseBytes, peer };
    const opened: { connection?: ServerConnection } = {};
    const connection = new ServerConnection({
      socket,
      headerBytes: HEADER_BYTES,
      maxStreams: maxConcurrentCalls ?? DEFAULT_CALLS,
      accept: () => new ServedCall(host),
      onClosed: () => {
        if (opened.connection !== undefined) this.#connections.delete(opened.connection);
        if (this.#connections.size === 0) this.#onIdle?.();
      },
    });
    opened.connection = connection;
    this.#connections.add(connection);
    if (this.#closing !== undefined) connection.drain();
  };

  async #close(graceMs: number): Promise<void> {
    const { promise: stopped, resolve: onStopped } = deferred<void>();
    const { promise: idle, resolve: onIdle } = deferred<void>();
    this.#server.close(() => onStopped());
    this.#onIdle = onIdle;
    for (const connection of this.#connections) connection.drain();
    if (this.#connections.size === 0) onIdle();
    const timer = setTimeout(() => {
      for (const connection of this.#connections) {
        connection.close(new Error("the server is closed"));
      }
    }, graceMs);
    await idle;
    clearTimeout(timer);
    await stopped;
  }
}

function listenOptions(address: RpcAddress): { path: string } | { host: string; port: number } {
  if ("socketPath" in address) return { path: address.socketPath };
  return { host: address.host.replace(/^\[(.*)\]$/, "$1"), port: address.port };
}

/** As grpc-js writes it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return remoteAddress === undefined ? "unknown" : `${remoteAddress}:${remotePort ?? 0}`;
}
