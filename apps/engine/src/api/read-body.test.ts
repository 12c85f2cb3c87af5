import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { readBytes } from "./read-body.ts";

it("a caller that goes before the end of its body is no failure of the server", async () => {
  const app = fastify();
  onTestFinished(async () => app.close());
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  const thrown = Promise.withResolvers<unknown>();
  app.post("/", async (request) => readBytes(request, 1_000));
  app.setErrorHandler((error, _request, reply) => {
    thrown.resolve(error);
    return reply.code(400).send();
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  const received = once(app.server, "request");
  socket.write(
    "POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\npart",
  );
  await received;
  socket.destroy();
  expect(await thrown.promise).toMatchObject({ code: "invalid_request" });
});
