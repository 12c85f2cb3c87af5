import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** How a server of another release differs from the one of this. */
interface OtherRelease {
  /** What its document says. */
  readonly version: string;
  /** Paths that it does not have. @default none */
  readonly lacks?: RegExp;
  /** What each member of its answers, at any depth, is instead; see the reviver of `JSON.parse`. @default as it is */
  readonly answer?: (name: string, value: unknown) => unknown;
}

/**
 * Gives the address of a server that answers as one of another release does, by asking one of this release. It has no streams of events. The end
 * of the test stops it.
 */
export async function startOtherRelease(
  server: URL | string,
  other: OtherRelease,
): Promise<string> {
  const proxy = createServer((request, reply) => {
    answerOf(new URL(request.url ?? "/", server), request, other)
      .then(({ status, type, body }) => reply.writeHead(status, { "content-type": type }).end(body))
      .catch((error: unknown) => reply.destroy(error as Error));
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer | string;
}

async function answerOf(
  target: URL,
  request: IncomingMessage,
  { version, lacks, answer = (_, value) => value }: OtherRelease,
): Promise<Answer> {
  const { method = "GET" } = request;
  if (target.pathname === "/openapi.json") {
    const document = JSON.stringify({ openapi: "3.1.0", info: { version } });
    return { status: 200, type: "application/json", body: document };
  }
  // What it does not have is asked of a route that no release has, so that the words are those of a server.
  const asked =
    lacks?.test(target.pathname) === true ? new URL("/api/v1/unheard-of", target) : target;
  const { authorization, "content-type": type } = request.headers;
  const body = await buffer(request);
  const given = await fetch(asked, {
    method,
    headers: {
      ...(authorization !== undefined && { authorization }),
      ...(type !== undefined && { "content-type": type }),
    },
    ...(body.length > 0 && { body: Uint8Array.from(body) }),
  });
  const answered = given.headers.get("content-type") ?? "application/octet-stream";
  const bytes = Buffer.from(await given.arrayBuffer());
  const isJson = /^application\/(?:problem\+)?json\b/.test(answered);
  const text = isJson ? JSON.stringify(JSON.parse(bytes.toString(), answer)) : bytes;
  return { status: given.status, type: answered, body: text };
}
