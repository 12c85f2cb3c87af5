import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** A service that takes some time for each call, and so many calls a second. Disposing ends it. */
interface ThrottledApi extends AsyncDisposable {
  readonly url: string;
  /** Calls since the last time, and how many of them were refused. */
  take(): { readonly calls: number; readonly refused: number };
}

/** Starts a service on the loopback. It answers up to a second's calls at once, and refuses what is more with 429. */
export async function startThrottledApi({
  answerMs,
  perSecond,
}: {
  readonly answerMs: number;
  readonly perSecond: number;
}): Promise<ThrottledApi> {
  let calls = 0;
  let refused = 0;
  let left = perSecond;
  let countedAt = performance.now();
  const server = createServer((_request, answer) => {
    const now = performance.now();
    left = Math.min(perSecond, left + ((now - countedAt) / 1_000) * perSecond);
    countedAt = now;
    calls += 1;
    if (left < 1) {
      refused += 1;
      answer.writeHead(429).end();
      return;
    }
    left -= 1;
    void delay(answerMs).then(() => answer.end("{}"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    take: () => {
      const taken = { calls, refused };
      calls = 0;
      refused = 0;
      left = perSecond;
      countedAt = performance.now();
      return taken;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
