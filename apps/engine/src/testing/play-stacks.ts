import { createServer, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { StackStatus } from "@stackwright/client";
import { onTestFinished } from "vitest";

/** Of a piece of a snapshot. */
const MAX_ITEMS = 500;

/**
 * A server as another one, but for the stream of stacks, which the test plays: thousands of stacks that read of each other would be
 * hours of runs.
 */
export async function playStacks(target: string, stacks: readonly StackStatus[]) {
  const known = new Map(stacks.map((one) => [one.id, one]));
  const readers = new Set<ServerResponse>();
  const write = (reader: ServerResponse, event: string, data: object): void => {
    const text = JSON.stringify({ topic: "stacks", ...data });
    reader.write(`event: ${event}\ndata: ${text}\n\n`);
  };
  const begin = (reader: ServerResponse): void => {
    reader.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    write(reader, "snapshot-begin", {});
    const all = [...known.values()];
    for (let first = 0; first < all.length; first += MAX_ITEMS) {
      write(reader, "snapshot", { items: all.slice(first, first + MAX_ITEMS) });
    }
    write(reader, "snapshot-end", {});
    readers.add(reader);
    reader.once("close", () => readers.delete(reader));
  };
  const server = createServer((received, response) => {
    if (received.url?.startsWith("/api/v1/watch?") === true) {
      begin(response);
      return;
    }
    const { method, headers } = received;
    const passed = request(new URL(received.url ?? "/", target), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.once("error", () => response.destroy());
    received.pipe(passed);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    /** What all readers see from now on, at once. */
    change: (set: readonly StackStatus[], gone: readonly string[] = []) => {
      for (const one of set) known.set(one.id, one);
      for (const id of gone) known.delete(id);
      for (const reader of readers) write(reader, "delta", { set, delete: gone });
    },
  };
}
