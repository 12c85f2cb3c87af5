import {
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { deferred } from "@stackwright/base/deferred";
import { afterEach, describe, expect, it, vi } from "vitest";
import { collect } from "../../testing/shapes-fixture.ts";
import { message, ShapesService } from "../../testing/shapes-service.ts";
import { openChannel } from "../channel.ts";
import { createClient } from "../client.ts";
import { implementService } from "../implement.ts";
import type { RpcError } from "../rpc-error.ts";
import { startServer } from "../server.ts";
import { frameMessage } from "./message-reader.ts";

const servers: Http2Server[] = [];
const channels: AsyncDisposable[] = [];
afterEach(async () => {
  for (const channel of channels.splice(0)) await channel[Symbol.asyncDispose]();
  for (const server of servers.splice(0)) server.close();
});

/** A server of HTTP/2 that is Node's, and knows nothing of gRPC: it answers as the test says. */
async function answering(
  answer: (stream: ServerHttp2Stream, headers: Readonly<Record<string, unknown>>) => void,
  settings: Parameters<typeof createServer>[0] = {},
) {
  const server = createServer(settings);
  servers.push(server);
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    answer(stream, headers);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const channel = openChannel({ host: "127.0.0.1", port }, { carrier: "frames" });
  channels.push(channel);
  return { server, channel, client: createClient(ShapesService, channel) };
}

const GRPC = { ":status": 200, "content-type": "application/grpc" };
const ANSWER = frameMessage(ShapesService.one.responseSerialize(message("answer")));

/** Answers with messages and trailers. */
function answerWith(
  stream: ServerHttp2Stream,
  body: Buffer,
  trailers: Record<string, string>,
): void {
  stream.respond(GRPC, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.end(body);
}

describe("what a server answers", () => {
  it.each<[string, (stream: ServerHttp2Stream) => void, Partial<RpcError>]>([
    [
      "an error in the only headers",
      (stream) =>
        stream.respond(
          { ...GRPC, "grpc-status": "5", "grpc-message": "no %E2%9C%93" },
          { endStream: true },
        ),
      { code: "NOT_FOUND", rawMessage: "no ✓" },
    ],
    [
      "an error whose text is not encoded right",
      (stream) =>
        stream.respond(
          { ...GRPC, "grpc-status": "5", "grpc-message": "100%" },
          { endStream: true },
        ),
      { code: "NOT_FOUND", rawMessage: "100%" },
    ],
    [
      "a status that gRPC does not know",
      (stream) => answerWith(stream, Buffer.alloc(0), { "grpc-status": "99" }),
      { code: "UNKNOWN" },
    ],
    [
      "no message",
      (stream) => answerWith(stream, Buffer.alloc(0), { "grpc-status": "0" }),
      { code: "INTERNAL" },
    ],
    [
      "two messages",
      (stream) => answerWith(stream, Buffer.concat([ANSWER, ANSWER]), { "grpc-status": "0" }),
      { code: "INTERNAL", rawMessage: expect.stringContaining("more than one") as string },
    ],
    [
      "half a message",
      (stream) => answerWith(stream, ANSWER.subarray(0, 7), { "grpc-status": "0" }),
      { code: "INTERNAL", rawMessage: expect.stringContaining("middle of a message") as string },
    ],
    [
      "a compressed message",
      (stream) => answerWith(stream, Buffer.from([1, 0, 0, 0, 0]), { "grpc-status": "0" }),
      { code: "INTERNAL", rawMessage: expect.stringContaining("compressed") as string },
    ],
    [
      "no status",
      (stream) => {
        stream.respond(GRPC);
        stream.end(ANSWER);
      },
      { code: "INTERNAL", rawMessage: expect.stringContaining("without a status") as string },
    ],
    [
      "a page",
      (stream) => {
        stream.respond({ ":status": 200, "content-type": "text/html" });
        stream.end("<html>");
      },
      { code: "UNKNOWN", rawMessage: expect.stringContaining("text/html") as string },
    ],
    [
      "503",
      (stream) => stream.respond({ ":status": 503 }, { endStream: true }),
      { code: "UNAVAILABLE", unprocessed: false },
    ],
    [
      "404",
      (stream) => stream.respond({ ":status": 404 }, { endStream: true }),
      { code: "UNIMPLEMENTED" },
    ],
    [
      "a refusal, of which nothing was done",
      (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM),
      { code: "UNAVAILABLE", unprocessed: true },
    ],
    [
      "a reset",
      (stream) => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM),
      { code: "RESOURCE_EXHAUSTED", unprocessed: false },
    ],
    [
      "a reset by cancellation",
      (stream) => stream.close(constants.NGHTTP2_CANCEL),
      { code: "CANCELLED" },
    ],
    [
      "the end of the connection",
      (stream) => stream.session?.destroy(),
      { code: "UNAVAILABLE", unprocessed: false },
    ],
  ])("%s is an error", async (_, answer, expected) => {
    const { client } = await answering(answer);
    await expect(client.one(message(""))).rejects.toMatchObject(expected);
  });

  it("is read whatever the values of its headers are", async () => {
    const value = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index))
      .join("")
      .trim();
    const { client } = await answering((stream) =>
      answerWith(stream, ANSWER, {
        "grpc-status": "0",
        "x-text": value,
        "x-long": value.repeat(100),
        "x-bytes-bin": "AP8=",
      }),
    );
    const seen: unknown[] = [];
    await client.one(message(""), {
      onTrailer: (trailer) =>
        seen.push(
          trailer.get("x-text")[0],
          trailer.get("x-long")[0],
          trailer.get("x-bytes-bin")[0],
        ),
    });
    expect(seen).toEqual([value, value.repeat(100), Buffer.from([0, 255])]);
  });
});

describe("a call", () => {
  it("says what it is and how long it may take", async () => {
    const seen: Readonly<Record<string, unknown>>[] = [];
    const { client } = await answering((stream, headers) => {
      seen.push({ ...headers });
      answerWith(stream, ANSWER, { "grpc-status": "0" });
    });
    await client.one(message(""), { timeoutMs: 60_000, metadata: { "x-own": "1" } });
    expect(seen[0]).toMatchObject({
      ":method": "POST",
      ":scheme": "http",
      ":path": "/stackwright.test.Shapes/One",
      "content-type": "application/grpc",
      te: "trailers",
      "x-own": "1",
      "grpc-timeout": expect.stringMatching(/^(60000|59\d{3})m$/),
    });
    await client.one(message(""), { timeoutMs: 1e12 });
    expect(seen[1]?.["grpc-timeout"]).toMatch(/^\d{8}S$/);
  });

  it("ends at its deadline, on the server too", async () => {
    const closed = deferred<number>();
    const { client } = await answering((stream) => {
      stream.on("close", () => closed.resolve(stream.rstCode));
    });
    await expect(client.one(message(""), { timeoutMs: 30 })).rejects.toMatchObject({
      code: "DEADLINE_EXCEEDED",
    });
    expect(await closed.promise).toBe(constants.NGHTTP2_CANCEL);
    await expect(client.one(message(""), { timeoutMs: 0 })).rejects.toMatchObject({
      code: "DEADLINE_EXCEEDED",
    });
  });

  it("is not sent where its message is larger than the limit", async () => {
    await using server = await startServer({
      services: [implementService(ShapesService, { one: () => message("", 2000) })],
    });
    await using channel = openChannel(server.address, { carrier: "frames", maxMessageBytes: 1000 });
    const client = createClient(ShapesService, channel);
    const tooLarge = { code: "RESOURCE_EXHAUSTED" };
    await expect(client.one(message("", 2000))).rejects.toMatchObject({
      ...tooLarge,
      unprocessed: true,
    });
    await expect(client.one(message(""))).rejects.toMatchObject({
      ...tooLarge,
      unprocessed: false,
    });
  });

  it.each([1, 100, 65_535])(
    "passes a server that gives a window of %d bytes",
    async (initialWindowSize) => {
      const { client } = await answering(
        (stream) => {
          const parts: Buffer[] = [];
          stream.on("data", (part: Buffer) => parts.push(part));
          stream.on("end", () => answerWith(stream, Buffer.concat(parts), { "grpc-status": "0" }));
        },
        { settings: { initialWindowSize } },
      );
      const size = initialWindowSize === 1 ? 200 : 300_000;
      const sizes = await Promise.all([0, 1, 2].map(() => client.one(message("a", size))));
      expect(sizes.map(({ value }) => value.length)).toEqual([size, size, size]);
    },
  );
});

describe("the channel", () => {
  it("connects again after the connection has ended", async () => {
    const { server, client } = await answering((stream) => {
      answerWith(stream, ANSWER, { "grpc-status": "0" });
    });
    const sessions: ServerHttp2Session[] = [];
    server.on("session", (session) => sessions.push(session));
    await client.one(message(""));
    sessions[0]?.close();
    // Until the end has arrived here, a call may meet it, and says that nothing was done.
    await vi.waitUntil(async () => {
      const error = await client.one(message("")).then(
        () => undefined,
        (reason: RpcError) => reason,
      );
      if (error !== undefined) expect(error).toMatchObject({ unprocessed: true });
      return sessions.length === 2;
    });
    expect(await client.one(message(""))).toEqual(message("answer"));
    expect(sessions).toHaveLength(2);
  });

  it("waits for a server that is not there yet", async () => {
    await using probe = await startServer({ services: [] });
    const { address } = probe;
    await probe.close();
    await using channel = openChannel(address, { carrier: "frames" });
    const client = createClient(ShapesService, channel);
    await expect(client.one(message(""))).rejects.toMatchObject({
      code: "UNAVAILABLE",
      unprocessed: true,
    });
    await expect(channel.waitForReady({ timeoutMs: 50 })).rejects.toMatchObject({
      code: "DEADLINE_EXCEEDED",
    });
    const one = client.one(message(""), { waitForReady: true });
    const all = collect(client.receive(message(""), { waitForReady: true }));
    await using _server = await startServer({
      address,
      services: [
        implementService(ShapesService, { one: () => message("!"), receive: () => [message("a")] }),
      ],
    });
    expect(await one).toEqual(message("!"));
    expect(await all).toEqual([message("a")]);
  });

  it("gives a wait up by its signal, and with the channel", async () => {
    await using channel = openChannel({ host: "127.0.0.1", port: 1 }, { carrier: "frames" });
    const reason = new Error("enough");
    await expect(channel.waitForReady({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const waiting = expect(channel.waitForReady()).rejects.toMatchObject({ code: "CANCELLED" });
    await channel.close();
    await waiting;
    await expect(channel.waitForReady()).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("takes no options of grpc-js and no target as text", () => {
    expect(() => openChannel("dns:localhost:1", { carrier: "frames" })).toThrow(TypeError);
    const init = { carrier: "frames", options: { "grpc.enable_retries": 0 } } as const;
    expect(() => openChannel({ host: "localhost", port: 1 }, init)).toThrow(TypeError);
  });
});
