import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** A request that has no end of its headers by then is of no peer. */
const MAX_HEADER_BYTES = 16 * 1024;

/** A connection between two members, by their places; the source is undefined where the request does not name it. */
interface PeerConnection {
  readonly source: number | undefined;
  readonly target: number;
  readonly sockets: readonly [Socket, Socket];
}

/**
 * The way between the members of an etcd cluster: a proxy before the peer port of each. A member that is isolated reaches no other one,
 * and no other one reaches it, while clients reach all: a partition of the network.
 *
 * Members name their own advertised address in the requests to each other (`X-PeerURLs`), which is that of their proxy.
 */
export class PeerNetwork implements AsyncDisposable {
  readonly #servers: readonly Server[];
  readonly #isolated = new Set<number>();
  readonly #connections = new Set<PeerConnection>();
  #targets: readonly number[] = [];

  /** Use `start`. */
  private constructor(servers: readonly Server[]) {
    this.#servers = servers;
    for (const [target, server] of servers.entries()) {
      server.on("connection", (client) => this.#accept(client, target));
    }
  }

  /** Listens for so many members on free ports of 127.0.0.1. */
  static async start(members: number): Promise<PeerNetwork> {
    const servers = Array.from({ length: members }, () => createServer());
    for (const server of servers) {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
    }
    return new PeerNetwork(servers);
  }

  /** Ports that the members advertise, in their order. */
  get ports(): readonly number[] {
    return this.#servers.map((server) => {
      const address = server.address();
      return typeof address === "object" && address !== null ? address.port : 0;
    });
  }

  /** Says on which ports the members listen, in their order. */
  leadTo(ports: readonly number[]): void {
    this.#targets = ports;
  }

  /** Cuts a member off all others. */
  isolate(member: number): void {
    this.#isolated.add(member);
    for (const connection of this.#connections) if (this.#isCut(connection)) end(connection);
  }

  /** Connects a member with those again that are not isolated. */
  rejoin(member: number): void {
    this.#isolated.delete(member);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#servers.map((server) => {
      server.close();
      return once(server, "close");
    });
    for (const connection of this.#connections) end(connection);
    await Promise.all(closed);
  }

  #isCut({ source, target }: Pick<PeerConnection, "source" | "target">): boolean {
    return this.#isolated.has(target) || (source !== undefined && this.#isolated.has(source));
  }

  #accept(client: Socket, target: number): void {
    let head = Buffer.alloc(0);
    client.on("error", () => client.destroy());
    const read = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      if (!head.includes("\r\n\r\n") && head.length < MAX_HEADER_BYTES) return;
      client.off("data", read).pause();
      this.#join(client, target, head);
    };
    client.on("data", read);
  }

  #join(client: Socket, target: number, head: Buffer): void {
    const source = this.#sourceOf(head.toString("latin1"));
    if (this.#isCut({ source, target })) {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ host: "127.0.0.1", port: this.#targets[target] ?? 0 });
    const connection: PeerConnection = { source, target, sockets: [client, server] };
    this.#connections.add(connection);
    const ended = (): void => {
      this.#connections.delete(connection);
      end(connection);
    };
    for (const socket of connection.sockets) {
      socket.setNoDelay(true);
      socket.on("error", ended).on("close", ended);
    }
    server.write(head);
    client.pipe(server);
    server.pipe(client);
  }

  /** The place of the member that sent a request. */
  #sourceOf(head: string): number | undefined {
    const urls = /^x-peerurls: *(.*)$/im.exec(head)?.[1] ?? "";
    const place = this.ports.findIndex((port) => urls.includes(`127.0.0.1:${port}`));
    return place === -1 ? undefined : place;
  }
}

function end({ sockets }: PeerConnection): void {
  for (const socket of sockets) socket.destroy();
}
