import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Knows which connections of a server have no request under way, so that its stop need not wait for them. Node's own
 * `closeIdleConnections` leaves those out on which no request was ever made, such as clients open in advance.
 */
export class IdleConnections {
  readonly #requests = new Map<Socket, number>();
  #closing = false;

  constructor(server: Server) {
    // Over TLS the connection below belongs to the one of the requests.
    const opened = "setSecureContext" in server ? "secureConnection" : "connection";
    server.on(opened, (socket: Socket) => {
      this.#requests.set(socket, 0);
      socket.once("close", () => this.#requests.delete(socket));
      if (this.#closing) socket.destroy();
    });
    server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#requests.set(socket, (this.#requests.get(socket) ?? 0) + 1);
      response.once("close", () => {
        const left = (this.#requests.get(socket) ?? 1) - 1;
        if (!socket.destroyed) this.#requests.set(socket, left);
        if (this.#closing && left === 0) socket.destroySoon();
      });
    });
  }

  /** Closes connections without a request, now and as soon as they have none. */
  close(): void {
    this.#closing = true;
    for (const [socket, requests] of this.#requests) if (requests === 0) socket.destroy();
  }
}
