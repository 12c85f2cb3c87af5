import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

/** A receiver of notifications on this machine. `answers` may be changed: how it answers what comes next. */
export async function startReceiver() {
  const received: Received[] = [];
  const answers = { status: 200, headers: {} as Record<string, string>, body: "" };
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const json = JSON.parse(body) as Record<string, unknown>;
    received.push({ headers: request.headers, text: body, json });
    response.writeHead(answers.status, answers.headers).end(answers.body);
  };
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/notified`,
    received,
    answers,
    events: () => received.map(({ json }) => json["event"]),
  };
}
