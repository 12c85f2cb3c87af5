import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A place for debuggers that stays the same while the process behind it is another one after each change. */
export interface DebuggerRelay extends AsyncDisposable {
  readonly port: number;
  /** Reads a line that the process wrote: true where it says where its debugger listens, to which connections go from then on. */
  follow(line: string): boolean;
}

/**
 * Listens on a port of loopback and passes connections on to the debugger of the newest process. Each process has a port of its own, as two live
 * side by side while one takes the place of the other, and Node goes on without a debugger where its port is taken.
 *
 * @param port 0 for any free one
 */
export async function startDebuggerRelay(port: number): Promise<DebuggerRelay> {
  let target: number | undefined;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    if (target === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect(target, "127.0.0.1");
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: typeof address === "object" ? (address?.port ?? port) : port,
    follow: (line) => {
      const found = /^Debugger listening on ws:\/\/127\.0\.0\.1:(\d+)\//.exec(line)?.[1];
      if (found === undefined) return false;
      target = Number(found);
      // A process that ends waits for its debugger to leave.
      cut();
      return true;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      server.close();
      cut();
      await closed;
    },
  };
}
