import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** What happens to one request on its way. */
export type Fault =
  | "pass"
  /** The connection ends before the request is forwarded. */
  | "cut-request"
  /** The function answers, and the connection ends before the answer. */
  | "cut-answer"
  /** The connection ends in the middle of the answer. */
  | "half-answer"
  /** The connection ends, and the request is forwarded some time later. */
  | "late"
  /** Forwarded twice at once. */
  | "twice"
  /** Forwarded again after it was answered. */
  | "again"
  /** Statuses of a gateway that did not forward. */
  | "429"
  | "throttled"
  | "503"
  | "504"
  /** Statuses of a gateway that did, and lost the answer. */
  | "503-after"
  | "504-after"
  /** Status 200 with something else. */
  | "page"
  | "truncated"
  /** The answer comes slowly. */
  | "slow";

export const FAULTS: readonly Fault[] = [
  "pass",
  "cut-request",
  "cut-answer",
  "half-answer",
  "late",
  "twice",
  "again",
  "429",
  "throttled",
  "503",
  "504",
  "503-after",
  "504-after",
  "page",
  "truncated",
  "slow",
];

export interface FaultProxy extends AsyncDisposable {
  readonly url: string;
  /** Where requests go; may be changed at any time, as by a new deployment. */
  target: string;
  /** Called when the function has answered a request, before the answer is passed on or lost. */
  onForwarded: (() => void) | undefined;
  /** What happens to the next requests, in order; then `pass`. */
  readonly plan: Fault[];
  /** Resolves when nothing that was delayed is outstanding any more. */
  settled(): Promise<void>;
}

/** How long a late request is held back, in milliseconds. */
const LATE_MS = 40;

/** An HTTP proxy that loses, doubles and delays on demand. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const plan: Fault[] = [];
  const outstanding = new Set<Promise<unknown>>();
  const proxy: Pick<FaultProxy, "target" | "onForwarded"> = { target, onForwarded: undefined };
  const later = (work: Promise<unknown>) => {
    const done = work.catch(() => undefined);
    outstanding.add(done);
    void done.finally(() => outstanding.delete(done));
  };
  const server = createServer((request, response) => {
    const handled = handle(request, response, plan.shift() ?? "pass", proxy, later);
    handled.catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get target() {
      return proxy.target;
    },
    set target(url) {
      proxy.target = url;
    },
    get onForwarded() {
      return proxy.onForwarded;
    },
    set onForwarded(listener) {
      proxy.onForwarded = listener;
    },
    plan,
    async settled() {
      while (outstanding.size > 0) await Promise.all(outstanding);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

interface Forwarded {
  readonly status: number;
  readonly body: Buffer;
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  fault: Fault,
  proxy: Pick<FaultProxy, "target" | "onForwarded">,
  later: (work: Promise<unknown>) => void,
): Promise<void> {
  const body = await collect(request);
  const forward = async () => {
    const answered = await send(proxy.target, request, body);
    proxy.onForwarded?.();
    return answered;
  };
  const answer = ({ status, body: bytes }: Forwarded) => response.writeHead(status).end(bytes);
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      setTimeout(resolve, ms);
    });
  switch (fault) {
    case "pass":
      answer(await forward());
      return;
    case "cut-request":
      response.destroy();
      return;
    case "cut-answer":
      await forward();
      response.destroy();
      return;
    case "half-answer": {
      const { body: bytes } = await forward();
      response.writeHead(200, { "content-length": bytes.length });
      response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.destroy());
      return;
    }
    case "late":
      response.destroy();
      later(pause(LATE_MS).then(forward));
      return;
    case "twice": {
      const [first] = await Promise.all([forward(), forward()]);
      answer(first);
      return;
    }
    case "again":
      answer(await forward());
      later(pause(LATE_MS).then(forward));
      return;
    case "throttled":
      response.writeHead(503).end('{"error_code":"FSS.0503","error_msg":"too many instances"}');
      return;
    case "429":
    case "503":
    case "504":
      response.writeHead(Number(fault)).end("<html>gateway</html>");
      return;
    case "503-after":
    case "504-after":
      await forward();
      response.writeHead(Number(fault.slice(0, 3))).end("<html>gateway</html>");
      return;
    case "page":
      await forward();
      response.writeHead(200).end("<html>please log in</html>");
      return;
    case "truncated": {
      const { body: bytes } = await forward();
      response.writeHead(200).end(bytes.subarray(0, Math.floor(bytes.length / 2)));
      return;
    }
    case "slow": {
      const { body: bytes } = await forward();
      response.writeHead(200);
      for (
        let at = 0;
        at < bytes.length && !response.destroyed;
        at += Math.ceil(bytes.length / 5)
      ) {
        response.write(bytes.subarray(at, at + Math.ceil(bytes.length / 5)));
        await pause(5);
      }
      response.end();
      return;
    }
  }
}

async function collect(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function send(target: string, request: IncomingMessage, body: Buffer): Promise<Forwarded> {
  return new Promise((resolve, reject) => {
    const { connection: _connection, "content-length": _length, ...headers } = request.headers;
    const forwarded = httpRequest(
      new URL(request.url ?? "/", target),
      { method: request.method ?? "POST", headers: { ...headers, "content-length": body.length } },
      (response) => {
        collect(response).then(
          (bytes) => resolve({ status: response.statusCode ?? 0, body: bytes }),
          reject,
        );
      },
    );
    forwarded.on("error", reject);
    forwarded.end(body);
  });
}
