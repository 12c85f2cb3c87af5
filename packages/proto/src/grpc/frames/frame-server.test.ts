import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  CLIENT_PREFACE,
  dataFrames,
  FRAME,
  goAwayFrame,
  headersFrames,
  LARGEST_FRAME_BYTES,
  resetFrame,
  SETTING,
  settingsFrame,
  windowUpdateFrame,
} from "../../http2/frame.ts";
import { FrameReader } from "../../http2/frame-reader.ts";
import { HpackDecoder } from "../../http2/hpack-decoder.ts";
import { encodeHeaders, HTTP2_ERRORS, http2ErrorName } from "../../http2/index.ts";
import { connectShapes, type Shapes, until } from "../../testing/shapes-fixture.ts";
import { message, ShapesService } from "../../testing/shapes-service.ts";
import { openChannel } from "../channel.ts";
import { createClient } from "../client.ts";
import { createMetadata } from "../metadata.ts";
import { RpcError } from "../rpc-error.ts";

const ONE = "/stackwright.test.Shapes/One";
const SEND = "/stackwright.test.Shapes/Send";

function portOf(address: object): number {
  return "port" in address ? Number(address.port) : 0;
}

async function serve(shapes: Shapes, server: { readonly maxConcurrentCalls?: number } = {}) {
  const fixture = await connectShapes(shapes, { server: { ...server, carrier: "frames" } });
  return {
    port: portOf(fixture.server.address),
    fixture,
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

/** A client that sends exactly what the test says. */
class ScriptedClient {
  readonly frames: {
    readonly type: number;
    readonly streamId: number;
    readonly payload: Buffer;
  }[] = [];
  readonly socket: Socket;

  constructor(port: number, first: Buffer = CLIENT_PREFACE) {
    this.socket = connect(port, "127.0.0.1");
    onTestFinished(() => void this.socket.destroy());
    this.socket.on("error", () => undefined);
    const reader = new FrameReader(LARGEST_FRAME_BYTES, (type, _flags, streamId, payload) => {
      this.frames.push({ type, streamId, payload: Buffer.from(payload) });
    });
    this.socket.on("data", (chunk: Buffer) => reader.push(chunk));
    this.socket.write(first);
  }

  /** Sends frames, with settings before the first. */
  begin(...frames: readonly Buffer[]): void {
    this.socket.write(Buffer.concat([settingsFrame([]), ...frames]));
  }

  /** The name of the error with which the server has ended the connection. */
  async ended(): Promise<string> {
    await until(() => this.frames.some(({ type }) => type === FRAME.GOAWAY));
    const goAway = this.frames.find(({ type }) => type === FRAME.GOAWAY);
    return http2ErrorName(goAway?.payload.readUInt32BE(4) ?? -1);
  }
}

function request(
  id: number,
  path: string,
  isEnd: boolean,
  more: readonly (readonly [string, string])[] = [],
): Buffer {
  const block = encodeHeaders([
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "localhost"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ...more,
  ]);
  return headersFrames(id, block, isEnd, 16_384);
}

const EMPTY_MESSAGE = Buffer.alloc(5);

describe("a server over frames", () => {
  it.each([
    ["another protocol", Buffer.from("GET / HTTP/1.1\r\n\r\n"), [], "PROTOCOL_ERROR"],
    ["a first frame without settings", CLIENT_PREFACE, [windowUpdateFrame(0, 1)], "PROTOCOL_ERROR"],
  ])("ends the connection of a client that sends %s", async (_, first, frames, code) => {
    await using served = await serve({ one: () => message("") });
    const client = new ScriptedClient(served.port, first);
    if (frames.length > 0) client.socket.write(Buffer.concat(frames));
    expect(await client.ended()).toBe(code);
  });

  it.each([
    ["a stream of the server's ids", [request(2, ONE, true)], "PROTOCOL_ERROR"],
    ["a body without a request", [dataFrames(1, EMPTY_MESSAGE, true, 16_384)], "PROTOCOL_ERROR"],
    ["a window that is widened by nothing", [windowUpdateFrame(0, 0)], "PROTOCOL_ERROR"],
    ["a window that is too wide", [windowUpdateFrame(0, 2 ** 31 - 1)], "FLOW_CONTROL_ERROR"],
    [
      "a body behind its end",
      [request(1, SEND, true), dataFrames(1, EMPTY_MESSAGE, false, 16_384)],
      "STREAM_CLOSED",
    ],
    ["headers within a body", [request(1, SEND, false), request(1, SEND, false)], "PROTOCOL_ERROR"],
    [
      "more than the window of a stream",
      [
        request(1, ONE, false),
        ...Array.from({ length: 5 }, () => dataFrames(1, Buffer.alloc(16_384, 1), false, 16_384)),
      ],
      // The first bytes say that the message is compressed: the call has failed, and the rest is dropped.
      undefined,
    ],
  ])("judges %s", async (_, frames, code) => {
    const waiting = new Promise<never>(() => undefined);
    await using served = await serve({ send: () => waiting, one: () => message("") });
    const client = new ScriptedClient(served.port);
    client.begin(...frames);
    if (code === undefined)
      await until(() =>
        client.frames.some(({ type, streamId }) => type === FRAME.HEADERS && streamId === 1),
      );
    else expect(await client.ended()).toBe(code);
  });

  it("stays for other clients when it ends one", async () => {
    await using served = await serve({ one: () => message("yes") });
    const client = new ScriptedClient(served.port);
    client.begin(request(2, ONE, true));
    await client.ended();
    expect(await served.fixture.client.one(message(""))).toEqual(message("yes"));
  });

  it("cuts a client off that opens calls only to give them up", { timeout: 30_000 }, async () => {
    await using served = await serve({ send: () => new Promise<never>(() => undefined) });
    const client = new ScriptedClient(served.port);
    const frames: Buffer[] = [];
    for (let id = 1; id < 50_000; id += 2) {
      frames.push(request(id, SEND, false), resetFrame(id, HTTP2_ERRORS.CANCEL));
    }
    client.begin(...frames);
    expect(await client.ended()).toBe("ENHANCE_YOUR_CALM");
  });

  it("refuses calls above its limit, and takes the next after them", async () => {
    let finish: (() => void) | undefined;
    const one = async () => {
      await new Promise<void>((resolve) => (finish = resolve));
      return message("");
    };
    await using served = await serve({ one }, { maxConcurrentCalls: 1 });
    const client = new ScriptedClient(served.port);
    const call = (id: number) => [
      request(id, ONE, false),
      dataFrames(id, EMPTY_MESSAGE, true, 16_384),
    ];
    client.begin(...call(1), ...call(3));
    await until(() => client.frames.some(({ type }) => type === FRAME.RST_STREAM));
    const refused = client.frames.find(({ type }) => type === FRAME.RST_STREAM);
    expect(refused?.streamId).toBe(3);
    expect(refused?.payload.readUInt32BE(0)).toBe(HTTP2_ERRORS.REFUSED_STREAM);
    finish?.();
    await until(
      () =>
        client.frames.filter(({ type, streamId }) => type === FRAME.HEADERS && streamId === 1)
          .length === 2,
    );
    finish = undefined;
    client.socket.write(Buffer.concat(call(5)));
    await until(() => finish !== undefined);
  });

  it("ends the calls that it has begun once it has sent GOAWAY", async () => {
    let finish: (() => void) | undefined;
    const one = async () => {
      await new Promise<void>((resolve) => (finish = resolve));
      return message("");
    };
    await using served = await serve({ one });
    const client = new ScriptedClient(served.port);
    client.begin(request(1, ONE, false), dataFrames(1, EMPTY_MESSAGE, true, 16_384));
    await until(() => finish !== undefined);
    const closing = served.fixture.server.close({ graceMs: 20_000 });
    expect(await client.ended()).toBe("NO_ERROR");
    client.socket.write(
      Buffer.concat([
        request(3, ONE, false),
        dataFrames(3, EMPTY_MESSAGE, true, 16_384),
        goAwayFrame(0, 0),
      ]),
    );
    finish?.();
    await closing;
    await vi.waitFor(() => expect(client.socket.destroyed).toBe(true), { timeout: 10_000 });
    const answered = client.frames.filter(({ type }) => type === FRAME.HEADERS);
    expect(answered.map(({ streamId }) => streamId)).toEqual([1, 1]);
  });
});

describe("a server over frames and a client that does not read", () => {
  it("takes no more calls than it can answer, and answers all once they are read", {
    timeout: 60_000,
  }, async () => {
    let calls = 0;
    await using served = await serve({
      one: () => {
        calls += 1;
        throw new RpcError("NOT_FOUND", "x".repeat(8000));
      },
    });
    const client = new ScriptedClient(served.port);
    client.socket.pause();
    const count = 6000;
    const parts: Buffer[] = [settingsFrame([])];
    for (let index = 0; index < count; index += 1) {
      const id = 2 * index + 1;
      parts.push(request(id, ONE, false), dataFrames(id, EMPTY_MESSAGE, true, 16_384));
    }
    client.socket.write(Buffer.concat(parts));
    // It stands still where it has taken no call for as long as a whole second of turns.
    let before = -1;
    let since = Date.now();
    await until(() => {
      if (calls !== before) [before, since] = [calls, Date.now()];
      return calls > 0 && Date.now() - since > 1000;
    });
    expect(calls).toBeLessThan(5000);
    client.socket.resume();
    await until(() => calls === count);
    await until(() => client.frames.length >= count);
    const answers = () => client.frames.filter(({ type }) => type === FRAME.HEADERS);
    await vi.waitFor(() => expect(answers()).toHaveLength(count), { timeout: 30_000 });
  });

  it("repeats no more than the beginning of a path that is not there", async () => {
    await using served = await serve({ one: () => message("") });
    const client = new ScriptedClient(served.port);
    client.begin(request(1, `/${"\xe9".repeat(20_000)}`, true));
    await until(() => client.frames.some(({ type }) => type === FRAME.HEADERS));
    const answer = client.frames.find(({ type }) => type === FRAME.HEADERS);
    expect(answer?.payload.length).toBeLessThan(2000);
    expect(answer?.payload.toString("latin1")).toContain("%C3%A9...");
  });

  it("gets the whole of its answer within the grace, however long it pauses", {
    timeout: 60_000,
  }, async () => {
    const size = 24 * 2 ** 20;
    await using served = await serve({ one: () => message("", size) });
    const client = new ScriptedClient(served.port);
    client.socket.pause();
    client.begin(
      settingsFrame([[SETTING.INITIAL_WINDOW_SIZE, 2 ** 30]]),
      windowUpdateFrame(0, 2 ** 30),
      request(1, ONE, false),
      dataFrames(1, EMPTY_MESSAGE, true, 16_384),
    );
    await until(() => client.socket.bytesRead > 0);
    let isClosed = false;
    const closing = served.fixture.server.close({ graceMs: 40_000 }).then(() => (isClosed = true));
    // Longer than the moment that the last frame has.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(isClosed).toBe(false);
    client.socket.resume();
    await closing;
    await until(() => client.socket.destroyed);
    const body = client.frames.filter(({ type }) => type === FRAME.DATA);
    expect(body.reduce((sum, { payload }) => sum + payload.length, 0)).toBeGreaterThan(size);
    expect(client.frames.filter(({ type }) => type === FRAME.HEADERS)).toHaveLength(2);
  });
});

describe("a server over frames and Node's own client", () => {
  it("answers one that has no table of headers", async () => {
    await using served = await serve({ one: () => message("") });
    const session = connectHttp2(`http://127.0.0.1:${served.port}`, {
      settings: { headerTableSize: 0 },
    });
    onTestFinished(() => session.destroy());
    await once(session, "localSettings");
    for (let call = 0; call < 2; call += 1) {
      const stream = session.request({ ":method": "GET" });
      const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
      expect(answer[":status"]).toBe(405);
    }
  });

  it("sends the headers of the protocol once where an error is passed on", async () => {
    let received: object = {};
    await using origin = await serve({
      one: () => {
        const metadata = createMetadata({ "x-own": "kept" });
        throw new RpcError("NOT_FOUND", "gone \ud800", { metadata });
      },
    });
    await using carried = await connectShapes(
      {
        one: (request) =>
          through.one(request).catch((error: RpcError) => {
            received = error.metadata.getMap();
            throw error;
          }),
      },
      { server: { carrier: "frames" } },
    );
    const channel = openChannel(origin.fixture.server.address, { carrier: "frames" });
    await using _ = channel;
    const through = createClient(ShapesService, channel);
    const client = new ScriptedClient(portOf(carried.server.address));
    client.begin(request(1, ONE, false), dataFrames(1, EMPTY_MESSAGE, true, 16_384));
    await until(() => client.frames.some(({ type }) => type === FRAME.HEADERS));
    const block = client.frames.find(({ type }) => type === FRAME.HEADERS)?.payload;
    const headers = new HpackDecoder(0).decode(block ?? Buffer.alloc(0), 10_000);
    expect(headers.map(([name]) => name).sort()).toEqual([
      ":status",
      "content-type",
      "grpc-accept-encoding",
      "grpc-message",
      "grpc-status",
      "x-own",
    ]);
    expect(received).toEqual({ "x-own": "kept" });
  });

  it("drops the headers of the protocol that a handler has in its metadata", async () => {
    await using served = await serve({
      one: (_, context) => {
        context.sendHeader(createMetadata({ "content-type": "text/plain", "x-first": "1" }));
        const metadata = createMetadata({ "grpc-status": "0", te: "x", "x-last": "2" });
        throw new RpcError("NOT_FOUND", "gone", { metadata });
      },
    });
    const client = new ScriptedClient(served.port);
    client.begin(request(1, ONE, false), dataFrames(1, EMPTY_MESSAGE, true, 16_384));
    const blocks = () => client.frames.filter(({ type }) => type === FRAME.HEADERS);
    await until(() => blocks().length === 2);
    const [first, last] = blocks().map(({ payload }) =>
      new HpackDecoder(0).decode(payload, 10_000),
    );
    expect(first?.map(([name]) => name)).toEqual([
      ":status",
      "content-type",
      "grpc-accept-encoding",
      "x-first",
    ]);
    expect(last?.map(([name]) => name)).toEqual(["grpc-status", "grpc-message", "x-last"]);
  });
});

describe("requests to a server over frames that are none of gRPC", () => {
  /** What Node's own client gets; header blocks of a table, and split ones, are of its making. */
  async function ask(port: number, headers: Record<string, string>, body?: Buffer) {
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    onTestFinished(() => session.destroy());
    const stream = session.request(headers, { endStream: body === undefined });
    if (body !== undefined) stream.end(body);
    const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
    stream.resume();
    const trailers: Record<string, unknown> = {};
    stream.on("trailers", (seen: Record<string, unknown>) => Object.assign(trailers, seen));
    await once(stream, "close");
    return { ...answer, ...trailers };
  }

  const grpc = (path: string, more: Record<string, string> = {}) => ({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc+proto",
    te: "trailers",
    ...more,
  });

  it("are refused by their method and their type", async () => {
    await using served = await serve({ one: () => message("") });
    expect(await ask(served.port, { ":path": "/" })).toMatchObject({ ":status": 405 });
    expect(
      await ask(served.port, { ":method": "POST", ":path": ONE, "content-type": "text/plain" }),
    ).toMatchObject({ ":status": constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE });
  });

  it.each([
    ["no message", ONE, {}, undefined, "13"],
    ["two messages", ONE, {}, Buffer.alloc(10), "13"],
    ["half a message", ONE, {}, Buffer.from([0, 0, 0, 0, 9, 1]), "13"],
    ["a compressed message", ONE, {}, Buffer.from([1, 0, 0, 0, 0]), "12"],
    ["a timeout that is none", ONE, { "grpc-timeout": "soon" }, EMPTY_MESSAGE, "13"],
    ["a path that is not there", "/a/b", {}, EMPTY_MESSAGE, "12"],
    [
      "metadata that is no base64 and in many parts",
      ONE,
      { "x-bin": "!", "x-long": "v".repeat(20_000) },
      EMPTY_MESSAGE,
      "0",
    ],
  ])("have a status of their own: %s", async (_, path, headers, body, status) => {
    await using served = await serve({ one: () => message("") });
    expect(await ask(served.port, grpc(path, headers), body)).toMatchObject({
      ":status": 200,
      "grpc-status": status,
    });
  });

  it("end at their deadline, on both sides", async () => {
    let reason: unknown;
    await using served = await serve({
      one: async (_, { signal }) => {
        await new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => resolve(), { once: true }),
        );
        reason = signal.reason;
        return message("");
      },
    });
    const answer = await ask(served.port, grpc(ONE, { "grpc-timeout": "50m" }), EMPTY_MESSAGE);
    expect(answer).toMatchObject({ "grpc-status": "4" });
    await until(() => reason !== undefined);
    expect(reason).toMatchObject({ code: "DEADLINE_EXCEEDED" });
  });
});
