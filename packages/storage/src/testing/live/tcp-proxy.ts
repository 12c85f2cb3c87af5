import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** A proxy in front of one server that disturbs its connections on demand. */
export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #stalled = new Map<readonly [Socket, Socket], NodeJS.Timeout>();
  #delayMs = 0;
  #targetPort = 0;

  constructor(server: Server) {
    this.#server = server;
  }

  /** Starts a proxy for a port of 127.0.0.1. */
  static async start(targetPort: number): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server);
    proxy.#targetPort = targetPort;
    server.on("connection", (client) => proxy.#join(client, proxy.#targetPort));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** Leads new connections to another server, and resets those that there are. */
  retarget(port: number): void {
    this.#targetPort = port;
    this.cut();
  }

  /** Resets all connections. */
  cut(): void {
    for (const [client, server] of this.#pairs) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
  }

  /** Ends the direction to the clients, and swallows what they send from now on. */
  halfClose(): void {
    for (const [client, server] of this.#pairs) {
      client.unpipe(server);
      client.resume();
      client.end();
    }
  }

  /** Lets no answer through for so long from now on; requests pass. */
  stall(ms: number): void {
    for (const pair of this.#pairs) {
      const [client, server] = pair;
      server.unpipe(client);
      server.pause();
      // One timer per pair: a server that is piped twice sends every byte twice.
      clearTimeout(this.#stalled.get(pair));
      const resume = (): void => {
        this.#stalled.delete(pair);
        server.pipe(client);
      };
      this.#stalled.set(pair, setTimeout(resume, ms).unref());
    }
  }

  /** Holds back everything that new connections carry for so long. */
  delayBy(ms: number): void {
    this.#delayMs = ms;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.cut();
    await closed;
  }

  #join(client: Socket, port: number): void {
    const server = connect({ host: "127.0.0.1", port, allowHalfOpen: false });
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    const end = (): void => {
      this.#pairs.delete(pair);
      clearTimeout(this.#stalled.get(pair));
      this.#stalled.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of pair) socket.on("error", end).on("close", end);
    client.setNoDelay(true);
    server.setNoDelay(true);
    const begin = (): void => {
      client.pipe(server);
      server.pipe(client);
    };
    if (this.#delayMs === 0) begin();
    else setTimeout(begin, this.#delayMs).unref();
  }
}
