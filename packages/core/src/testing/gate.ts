import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A way to a server on this machine that can be shut at any moment, as if that had died, and opened again. */
export interface Gate extends AsyncDisposable {
  readonly url: string;
  /** Breaks all connections; new ones are refused. */
  shut(): Promise<void>;
  open(): Promise<void>;
}

/** Opens a gate to a URL. */
export async function startGate(target: string): Promise<Gate> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let bound = 0;
  const onClient = (client: Socket): void => {
    const upstream = connect(Number(port), hostname);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  };
  const open = async (): Promise<void> => {
    const next = createServer(onClient);
    await new Promise<void>((resolve, reject) => {
      next.once("error", reject);
      next.listen(bound, "127.0.0.1", resolve);
    });
    server = next;
    bound = (next.address() as AddressInfo).port;
  };
  const shut = async (): Promise<void> => {
    const closing = server;
    server = undefined;
    for (const socket of sockets) socket.resetAndDestroy();
    await new Promise<void>((resolve) => {
      if (closing === undefined) resolve();
      else closing.close(() => resolve());
    });
  };
  await open();
  return { url: `http://127.0.0.1:${bound}`, shut, open, [Symbol.asyncDispose]: shut };
}
