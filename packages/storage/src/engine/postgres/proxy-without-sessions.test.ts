import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { assertCode } from "../../testing/assertions.ts";
import { createPostgresStorage } from "../postgres.ts";

/** A message of the server: its type, its length, its content. */
function message(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

const text = (...fields: string[]): Buffer =>
  Buffer.from(fields.map((field) => `${field}\0`).join(""));

/** A proxy that answers the first packet of a session as `reply` says. */
async function proxy(reply: (socket: Socket, startup: string) => void) {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (packet) => reply(socket, packet.toString("latin1")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("expected a port");
  return {
    url: `postgres://user:secret@127.0.0.1:${address.port}/database`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}

test("a proxy that refuses the settings of a session is named as the reason", async () => {
  const startups: string[] = [];
  await using between = await proxy((socket, startup) => {
    startups.push(startup);
    const error = text("SFATAL", "C08P01", "Munsupported startup parameter: search_path", "");
    socket.end(message("E", error));
  });
  const opening = createPostgresStorage({ url: between.url, timeoutMs: 5_000 });
  const error = await assertCode(opening, "STORAGE_INVALID_ARGUMENT");
  expect(error.message).toContain("PgBouncer");
  expect(error.message).not.toContain("secret");
  expect(error.details.field).toBe("url");
  expect(startups[0]).toContain("search_path\0stackwright\0");
});
