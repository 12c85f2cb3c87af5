import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Where one connection is cut: after so many bytes to the function, or from it. */
export interface Cut {
  readonly direction: "up" | "down";
  readonly afterBytes: number;
}

interface CutProxy extends AsyncDisposable {
  readonly url: string;
  /** What happens to the next connections, in order; then nothing. */
  readonly plan: Cut[];
  /** Ends the connections that are kept, so that the next request opens one. */
  drop(): Promise<void>;
}

/** A proxy on the level of bytes that breaks connections at given places, with a reset. */
export async function startCutProxy(target: string): Promise<CutProxy> {
  const { hostname, port } = new URL(target);
  const plan: Cut[] = [];
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const cut = plan.shift();
    const upstream = connect(Number(port), hostname);
    const end = () => {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    };
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", end);
      socket.on("close", () => {
        open.delete(socket);
        end();
      });
    }
    relay(client, upstream, cut?.direction === "up" ? cut.afterBytes : Infinity, end);
    relay(upstream, client, cut?.direction === "down" ? cut.afterBytes : Infinity, end);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    plan,
    async drop() {
      for (const socket of open) socket.destroy();
      while (open.size > 0) await new Promise((resolve) => setImmediate(resolve));
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

function relay(from: Socket, to: Socket, limit: number, end: () => void): void {
  let left = limit;
  if (left === 0) end();
  from.on("data", (chunk: Buffer) => {
    const part = chunk.subarray(0, Math.max(0, Math.min(chunk.length, left)));
    left -= part.length;
    if (left > 0) to.write(part);
    // What was let through has to arrive before the connection breaks.
    else to.write(part, () => setTimeout(end, 5));
  });
}
