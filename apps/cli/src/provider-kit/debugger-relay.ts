import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A place for debuggers that stays the same while the process behind it is another one after each change. */
export interface DebuggerRelay extends AsyncDisposable {
  readonly port: number;
  /** Reads a line that the process wrote: true where it says where its debugger listens, to which connections go from then on. */
  follow(line: string): boolean;
}

/** Ports that are remembered: a process that ends at its start leaves the one from before in use. */
const MOST_PORTS = 64;

/**
 * Listens on a port of loopback and passes connections on to the debugger of the newest process that has one. Each process has a port of its own, as two
 * live side by side while one takes the place of the other, and Node continues without a debugger where its port is taken.
 *
 * @param port 0 for any free one
 */
export async function startDebuggerRelay(port: number): Promise<DebuggerRelay> {
  /** The newest last. */
  const ports: number[] = [];
  const open = new Set<Socket>();
  const hold = (socket: Socket): Socket => {
    open.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => open.delete(socket));
    return socket;
  };
  const reach = async (): Promise<Socket | undefined> => {
    for (;;) {
      const newest = ports.at(-1);
      if (newest === undefined) return undefined;
      const socket = hold(connect(newest, "127.0.0.1"));
      try {
        await once(socket, "connect");
        return socket;
      } catch {
        // The process of that port is gone.
        if (ports.at(-1) === newest) ports.pop();
      }
    }
  };
  const join = async (client: Socket): Promise<void> => {
    hold(client);
    const upstream = await reach();
    if (upstream === undefined || client.destroyed) {
      upstream?.destroy();
      client.destroy();
      return;
    }
    client.once("close", () => upstream.destroy()).pipe(upstream);
    upstream.once("close", () => client.destroy()).pipe(client);
  };
  const server = createServer((client) => void join(client));
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
      ports.push(Number(found));
      if (ports.length > MOST_PORTS) ports.shift();
      // A process that ends waits for its debugger to leave.
      cut();
      return true;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      server.close();
      ports.length = 0;
      cut();
      await closed;
    },
  };
}
