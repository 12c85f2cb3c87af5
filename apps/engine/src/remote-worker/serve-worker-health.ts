import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/** How long the server may be away before the worker is not ready. */
const AWAY_MS = 60_000;

/** What a worker says of itself. */
export interface WorkerCondition {
  /** It claims nothing more and ends its steps. */
  readonly draining: boolean;
  /** For how long no server has answered, in ms. */
  readonly lostForMs: number;
}

/** Where the health of a worker is asked for. */
interface WorkerHealth extends AsyncDisposable {
  /** The port, also where any free one was asked for. */
  readonly port: number;
}

/**
 * Answers probes of a worker over HTTP, without authentication and without anything that is secret: `/healthz` as long as the
 * process answers at all, `/readyz` with 503 while it drains, and where no server has answered for a minute. Rejects where the
 * address cannot be listened on.
 */
export async function serveWorkerHealth(
  { host, port }: { readonly host: string; readonly port: number },
  conditionOf: () => WorkerCondition,
): Promise<WorkerHealth> {
  const answer = ({ method, url }: IncomingMessage, response: ServerResponse): void => {
    const reply = (status: number, text: string): void => {
      response.writeHead(status, {
        "content-type": "application/json",
        "cache-control": "no-store",
        connection: "close",
      });
      response.end(method === "HEAD" ? undefined : `${JSON.stringify({ status: text })}\n`);
    };
    if (method !== "GET" && method !== "HEAD") reply(405, "method not allowed");
    else if (url === "/healthz") reply(200, "ok");
    else if (url !== "/readyz") reply(404, "not found");
    else {
      const { draining, lostForMs } = conditionOf();
      if (draining) reply(503, "draining");
      else if (lostForMs >= AWAY_MS) reply(503, "no server answers");
      else reply(200, "ok");
    }
  };
  const server = createServer(
    {
      requestTimeout: 5_000,
      headersTimeout: 5_000,
      // Silent connections leave room for probes soon.
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 8_192,
    },
    answer,
  );
  server.maxConnections = 32;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve());
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
