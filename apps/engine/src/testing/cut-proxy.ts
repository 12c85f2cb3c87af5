import { connect, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** A way to a server of another machine that can be cut. Disposing closes it. */
export interface CutProxy extends AsyncDisposable {
  readonly port: number;
  /** Lets nothing through in either direction, new connections included, for so long. */
  cut(ms: number): Promise<void>;
  /** From now on everything passes later by so many milliseconds, in its order. 0 ends that for what comes then. */
  slow(delayMs: number): void;
  /** Breaks all connections and refuses new ones, for so long: what a server that ends and starts again does. */
  refuse(ms: number): Promise<void>;
}

/** Starts a proxy on a port of this machine. */
export async function startCutProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<CutProxy> {
  let isCut = false;
  let delayMs = 0;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    const pass = (from: Socket, to: Socket): void => {
      // What came before passes before, also where it waits longer.
      let last = Promise.resolve();
      from.on("data", (chunk) => {
        const waited = delayMs === 0 ? undefined : delay(delayMs, undefined, { ref: false });
        const before = last;
        const passOn = async (): Promise<void> => {
          await before;
          await waited;
          to.write(chunk);
        };
        last = passOn();
      });
    };
    pass(client, upstream);
    pass(upstream, client);
    if (isCut) for (const socket of [client, upstream]) socket.pause();
  });
  const listen = async (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      });
    });
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of open) socket.destroy();
    await closed;
  };
  await listen(0);
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  const { port } = address;
  return {
    port,
    cut: async (ms) => {
      isCut = true;
      for (const socket of open) socket.pause();
      await new Promise((resolve) => setTimeout(resolve, ms));
      isCut = false;
      for (const socket of open) socket.resume();
    },
    slow: (ms) => {
      delayMs = ms;
    },
    refuse: async (ms) => {
      await close();
      await new Promise((resolve) => setTimeout(resolve, ms));
      await listen(port);
    },
    [Symbol.asyncDispose]: close,
  };
}
