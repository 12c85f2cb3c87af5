import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { assertCode } from "../../testing/assertions.ts";
import { postgresServers } from "../../testing/live/postgres-servers.ts";
import { createPostgresStorage } from "../postgres.ts";

const server = postgresServers().at(-1);

/** The first packet of a session without some of its settings, as a proxy that ignores them sends it on. */
function withoutSettings(packet: Buffer, dropped: ReadonlySet<string>): Buffer {
  const fields = packet.subarray(8, -1).toString("latin1").split("\0");
  const kept: string[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [name = "", value = ""] = fields.slice(at, at + 2);
    if (!dropped.has(name)) kept.push(name, value);
  }
  const content = Buffer.from(`${kept.join("\0")}\0\0`, "latin1");
  const head = Buffer.from(packet.subarray(0, 8));
  head.writeInt32BE(8 + content.length);
  return Buffer.concat([head, content]);
}

test.skipIf(server === undefined).each([
  ["the schema", ["search_path"]],
  ["the time of a transaction", ["idle_in_transaction_session_timeout"]],
])("a proxy that drops %s is refused before anything is made", async (_, dropped) => {
  const target = new URL(server?.url ?? "");
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const one of [socket, upstream]) one.on("error", () => undefined);
    sockets.add(socket).add(upstream);
    socket.once("data", (packet) => {
      upstream.write(withoutSettings(packet, new Set(dropped)));
      socket.pipe(upstream).pipe(socket);
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("expected a port");
  const between = new URL(target);
  between.hostname = "127.0.0.1";
  between.port = String(address.port);
  const opening = createPostgresStorage({ url: between.href, schema: "never_made" });
  const { message } = await assertCode(opening, "STORAGE_INVALID_ARGUMENT");
  expect(message).toContain("does not keep the settings of a session");
  for (const socket of sockets) socket.destroy();
  proxy.close();
});
