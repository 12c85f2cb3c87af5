import { Agent, request as httpRequest } from "node:http";

/** What a run of many clients came to. Times in milliseconds. */
export interface LoadResult {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly requests: number;
  readonly failures: number;
}

/** One request: its path and, for POST, its body. */
export interface LoadRequest {
  readonly path: string;
  readonly body?: string;
}

/** Lets `clients` connections send requests one after the other for a while. */
export async function runLoad(options: {
  readonly url: string;
  readonly token: string;
  readonly clients: number;
  readonly durationMs: number;
  readonly next: (n: number) => LoadRequest;
}): Promise<LoadResult> {
  const { url, token, clients, durationMs, next } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const base = new URL(url);
  const times: number[] = [];
  let failures = 0;
  let sent = 0;
  const headers = {
    "x-auth-token": token,
    "client-request-id": "8f14e45f-ceea-467f-a9a7-d5b1d9e2b9a1",
  };
  const send = ({ path, body }: LoadRequest): Promise<number> =>
    new Promise((resolve, reject) => {
      const more =
        body === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      const request = httpRequest(
        {
          host: base.hostname,
          port: base.port,
          agent,
          path,
          method: body === undefined ? "GET" : "POST",
          headers: { ...headers, ...more },
        },
        (response) => {
          response.resume();
          response.once("end", () => resolve(response.statusCode ?? 0));
        },
      );
      request.once("error", reject);
      request.end(body);
    });

  const started = performance.now();
  const until = started + durationMs;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < until) {
        const before = performance.now();
        const status = await send(next(sent++));
        times.push(performance.now() - before);
        if (status >= 300) failures += 1;
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  agent.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor((times.length - 1) * share)] ?? 0;
  return {
    perSecond: times.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    requests: times.length,
    failures,
  };
}
