import { type ChannelOptions, Server, type ServerCredentials } from "@grpc/grpc-js";
import { formatListenAddress, type RpcAddress } from "./address.ts";
import { type Admit, admissionInterceptor } from "./admission.ts";
import { FrameServer } from "./frames/frame-server.ts";
import type { ServedMethod } from "./frames/served-call.ts";
import type { ServiceBinding } from "./implement.ts";
import { RpcError } from "./rpc-error.ts";
import { MAX_MESSAGE_BYTES } from "./service.ts";
import { type ServerTls, serverCredentials, TlsCredentials } from "./tls.ts";

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
  /**
   * The largest message, in bytes, to receive. A larger one fails with RESOURCE_EXHAUSTED as soon as its
   * length is known.
   * @default the most that one of the services takes; `maxMessageBytes` where one of them sets no limit
   */
  readonly maxRequestBytes?: number;
  /**
   * How many calls a connection may have open at once; a client that keeps to HTTP/2 lets further ones
   * wait, and the calls of one that does not are refused.
   * @default no limit
   */
  readonly maxConcurrentCalls?: number;
  /**
   * What carries the calls. `frames` is HTTP/2 of this package: a call costs less than half of the processor time. It serves in the clear, with
   * no `options`, and at most 100,000 calls of a connection at once.
   * @default "grpc-js"
   */
  readonly carrier?: "grpc-js" | "frames";
  /** Further options for grpc-js, which win over those set here. */
  readonly options?: ChannelOptions;
}

export interface CloseOptions {
  /**
   * Time that running calls have to complete; then they are canceled.
   * @default 0
   */
  readonly graceMs?: number;
}

/** A server that is listening. */
export interface RpcServer extends AsyncDisposable {
  /** Where it listens, with the port that the system chose. */
  readonly address: RpcAddress;
  /**
   * Takes another certificate, or others that are trusted, for connections from now on. Throws, and changes
   * nothing, where certificate and key are not of one another, and for a server in the clear.
   */
  replaceTls(tls: ServerTls): void;
  /** Refuses new calls, ends those under way and stops listening. May be called again. */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Starts a server. Rejects with UNAVAILABLE when it cannot listen, a unix socket that exists
 * included: whether another process is behind it is for the caller to know.
 */
export async function startServer(init: ServerInit): Promise<RpcServer> {
  const { address = { host: "127.0.0.1", port: 0 }, maxMessageBytes = MAX_MESSAGE_BYTES } = init;
  const { services, maxConcurrentCalls, maxRequestBytes = requestLimit(services) } = init;
  if (init.carrier === "frames") {
    if (init.tls !== undefined) throw new TypeError("frames are served in the clear");
    if (init.options !== undefined) throw new TypeError("options are for grpc-js");
    return FrameServer.start({
      address,
      methods: methodsOf(services),
      maxRequestBytes: maxRequestBytes ?? maxMessageBytes,
      maxResponseBytes: maxMessageBytes,
      maxConcurrentCalls,
    });
  }
  const server = new Server({
    "grpc.max_receive_message_length": maxRequestBytes ?? maxMessageBytes,
    "grpc.max_send_message_length": maxMessageBytes,
    ...(maxConcurrentCalls === undefined
      ? {}
      : { "grpc.max_concurrent_streams": maxConcurrentCalls }),
    interceptors: [admissionInterceptor(admissionsOf(services))],
    ...init.options,
  });
  for (const { definition, implementation } of services) {
    server.addService(definition, implementation);
  }
  const target = formatListenAddress(address);
  const credentials = serverCredentials(init.tls);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(target, credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(new RpcError("UNAVAILABLE", `cannot listen on ${target}`, { cause: error }));
    });
  });
  const bound = "socketPath" in address ? address : { ...address, port };
  return new ListeningServer(server, bound, credentials);
}

/** The most that any service takes; undefined where one of them leaves that to the server. */
function requestLimit(services: readonly ServiceBinding[]): number | undefined {
  const limits = services.map(({ maxRequestBytes }) => maxRequestBytes ?? Number.POSITIVE_INFINITY);
  const most = Math.max(0, ...limits);
  return most > 0 && Number.isFinite(most) ? most : undefined;
}

function admissionsOf(services: readonly ServiceBinding[]): ReadonlyMap<string, Admit> {
  const admissions = new Map<string, Admit>();
  for (const { definition, admit } of services) {
    if (admit === undefined) continue;
    for (const { path } of Object.values(definition)) admissions.set(path, admit);
  }
  return admissions;
}

function methodsOf(services: readonly ServiceBinding[]): ReadonlyMap<string, ServedMethod> {
  const methods = new Map<string, ServedMethod>();
  for (const { methods: own, admit } of services) {
    for (const bound of own) methods.set(bound.method.path, { ...bound, admit });
  }
  return methods;
}

class ListeningServer implements RpcServer {
  readonly address: RpcAddress;
  readonly #server: Server;
  readonly #credentials: ServerCredentials;
  #closing: Promise<void> | undefined;

  constructor(server: Server, address: RpcAddress, credentials: ServerCredentials) {
    this.#server = server;
    this.address = address;
    this.#credentials = credentials;
  }

  replaceTls(tls: ServerTls): void {
    if (!(this.#credentials instanceof TlsCredentials)) {
      throw new RpcError("FAILED_PRECONDITION", "the server was started without TLS");
    }
    this.#credentials.replace(tls);
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
