import { type ChannelOptions, Server } from "@grpc/grpc-js";
import { formatListenAddress, type RpcAddress } from "./address.ts";
import type { ServiceBinding } from "./implement.ts";
import { RpcError } from "./rpc-error.ts";
import { MAX_MESSAGE_BYTES } from "./service.ts";
import { type ServerTls, serverCredentials } from "./tls.ts";

export interface ServerInit {
  /**
   * Where to listen.
   * @default a free port of 127.0.0.1
   */
  readonly address?: RpcAddress;
  readonly services: readonly ServiceBinding[];
  /** Encrypts and authenticates; without it connections are in the clear. */
  readonly tls?: ServerTls;
  /**
   * The largest message, in bytes, to send or receive.
   * @default 400 MiB
   */
  readonly maxMessageBytes?: number;
  /** Further options for grpc-js, which win over those set here. */
  readonly options?: ChannelOptions;
}

export interface CloseOptions {
  /**
   * How long calls may go on; then they are cancelled.
   * @default 0
   */
  readonly graceMs?: number;
}

/** A server that is listening. */
export interface RpcServer extends AsyncDisposable {
  /** Where it listens, with the port that the system chose. */
  readonly address: RpcAddress;
  /** Refuses new calls, ends those under way and stops listening. May be called again. */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Starts a server. Rejects with UNAVAILABLE when it cannot listen, a unix socket that exists
 * included: whether another process is behind it is for the caller to know.
 */
export async function startServer(init: ServerInit): Promise<RpcServer> {
  const { address = { host: "127.0.0.1", port: 0 }, maxMessageBytes = MAX_MESSAGE_BYTES } = init;
  const server = new Server({
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": maxMessageBytes,
    ...init.options,
  });
  for (const { definition, implementation } of init.services) {
    server.addService(definition, implementation);
  }
  const target = formatListenAddress(address);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(target, serverCredentials(init.tls), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(new RpcError("UNAVAILABLE", `cannot listen on ${target}`, { cause: error }));
    });
  });
  return new ListeningServer(server, "socketPath" in address ? address : { ...address, port });
}

class ListeningServer implements RpcServer {
  readonly address: RpcAddress;
  readonly #server: Server;
  #closing: Promise<void> | undefined;

  constructor(server: Server, address: RpcAddress) {
    this.#server = server;
    this.address = address;
  }

  close(options: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(options.graceMs ?? 0);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(graceMs: number): Promise<void> {
    const server = this.#server;
    const done = new Promise<void>((resolve) => {
      server.tryShutdown(() => resolve());
    });
    const timer = setTimeout(() => server.forceShutdown(), graceMs);
    await done;
    clearTimeout(timer);
  }
}
