import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, it } from "vitest";
import { IdleConnections } from "./idle-connections.ts";

async function start() {
  const server = createServer();
  const idle = new IdleConnections(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const open = async () => {
    const accepted = once(server, "connection");
    const socket = connect(port, "127.0.0.1");
    await Promise.all([accepted, once(socket, "connect")]);
    return socket;
  };
  const stop = async () => {
    const closed = once(server, "close");
    server.close();
    idle.close();
    await closed;
  };
  return { server, open, stop };
}

it("a connection without any request does not hold up the stop", async () => {
  const { open, stop } = await start();
  const ended = once(await open(), "close");
  await stop();
  await ended;
});

it("a request that is under way is answered, and then its connection is closed", async () => {
  const { server, open, stop } = await start();
  const asked = once(server, "request");
  const socket = await open();
  socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
  const [, response] = await asked;
  const stopping = stop();
  response.end("done");
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  expect(text).toContain("done");
  await stopping;
});
