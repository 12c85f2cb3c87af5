import { createServer, type Socket } from "node:net";
import { CommandError } from "../command-error.ts";

/** How the one client of a command is waited for. */
interface SingleClientOptions {
  /** 0 takes any that is free. */
  readonly port: number;
  /** Called once the port is open. */
  readonly onListening: (address: string) => void;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Waits on a port of loopback for one client. The port is closed with its connection, so that no second one is served; the caller
 * destroys the connection.
 */
export async function acceptSingleClient({
  port,
  onListening,
  timeoutMs,
  signal,
}: SingleClientOptions): Promise<Socket> {
  const late = AbortSignal.timeout(timeoutMs);
  const end = AbortSignal.any([signal, late]);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const server = createServer({ noDelay: true });
  server.once("connection", resolve);
  server.once("error", reject);
  const abort = (): void =>
    reject(
      signal.aborted
        ? signal.reason
        : new CommandError(`No client has connected within ${timeoutMs / 1000} seconds.`),
    );
  end.addEventListener("abort", abort, { once: true });
  if (end.aborted) abort();
  else {
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      const open = typeof address === "object" && address !== null ? address.port : port;
      onListening(`127.0.0.1:${open}`);
    });
  }
  try {
    return await promise;
  } finally {
    end.removeEventListener("abort", abort);
    server.close();
  }
}
