import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HTTP2_ERRORS } from "./error-codes.ts";
import {
  goAwayFrame,
  LARGEST_WINDOW_BYTES,
  resetFrame,
  SETTING,
  settingsFrame,
  windowUpdateFrame,
} from "./frame.ts";
import { encodeHeaders } from "./header-block.ts";
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  Recorder,
  ScriptedServer,
  settled,
} from "./testing/scripted-server.ts";

const BLOCK = encodeHeaders([[":method", "POST"]]);
const OK = encodeHeaders([[":status", "200"]]);
const text = (value: string) => Buffer.from(value);

async function connected(
  settings: (readonly [number, number])[] = [],
  options: ConstructorParameters<typeof ScriptedServer>[0] = {},
) {
  const server = new ScriptedServer(options);
  server.greet(...settings);
  await settled();
  return server;
}

function begin(server: ScriptedServer, body?: string) {
  const recorder = new Recorder();
  const stream = server.connection.open(BLOCK, recorder);
  if (body !== undefined) stream.write(text(body), true);
  return { recorder, stream };
}

describe("ClientConnection", () => {
  it("asks for no table of headers and no pushes, and is ready with the server's settings", async () => {
    const server = new ScriptedServer();
    await settled();
    expect(server.events).toEqual([]);
    const [settings] = server.frames;
    expect(settings?.payload.subarray(0, 12).toString("hex")).toBe("000100000000000200000000");
    server.greet();
    await settled();
    expect(server.events).toEqual(["ready"]);
    expect(server.frames.at(-1)).toMatchObject({ type: FRAME.SETTINGS, flags: 1 });
  });

  it("carries a request and its answer", async () => {
    const server = await connected();
    const { recorder } = begin(server, "hello");
    await settled();
    expect(server.sent(FRAME.HEADERS)).toMatchObject([{ streamId: 1, payload: BLOCK }]);
    expect(server.sent(FRAME.DATA)).toMatchObject([
      { streamId: 1, flags: END_STREAM, payload: text("hello") },
    ]);
    server.send(
      frame(FRAME.HEADERS, END_HEADERS, 1, OK),
      frame(FRAME.DATA, 0, 1, text("a")),
      frame(FRAME.HEADERS, END_HEADERS + END_STREAM, 1, encodeHeaders([["x", "y"]])),
    );
    await settled();
    expect(recorder.log).toEqual(["headers :status=200", "data a", "headers x=y end"]);
  });

  it("takes padding, priorities, continuations and frames that it does not know", async () => {
    const server = await connected();
    const { recorder } = begin(server, "");
    const block = encodeHeaders([
      [":status", "200"],
      ["x", "y".repeat(100)],
    ]);
    server.send(
      frame(0x42, 0xff, 1, text("an extension")),
      frame(FRAME.PRIORITY, 0, 1, [0, 0, 0, 0, 0]),
      frame(
        FRAME.HEADERS,
        0x8 + 0x20,
        1,
        Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 7]), block.subarray(0, 20), text("..")]),
      ),
      frame(FRAME.CONTINUATION, 0, 1, block.subarray(20, 20)),
      frame(FRAME.CONTINUATION, END_HEADERS, 1, block.subarray(20)),
      frame(FRAME.DATA, 0x8 + END_STREAM, 1, [3, ...text("data"), 0, 0, 0]),
    );
    await settled();
    expect(recorder.log).toEqual([`headers :status=200 x=${"y".repeat(100)}`, "data data end"]);
  });

  it("leaves informational answers out", async () => {
    const server = await connected();
    const { recorder } = begin(server, "");
    server.send(frame(FRAME.HEADERS, END_HEADERS, 1, encodeHeaders([[":status", "103"]])));
    await settled();
    expect(recorder.log).toEqual([]);
  });

  it("splits headers that are larger than a frame", async () => {
    const server = await connected();
    const block = encodeHeaders([["x", "y".repeat(40_000)]]);
    server.connection.open(block, new Recorder());
    await settled();
    const frames = server.frames.filter(({ streamId }) => streamId === 1);
    expect(frames.map(({ type, flags }) => [type, flags])).toEqual([
      [FRAME.HEADERS, 0],
      [FRAME.CONTINUATION, 0],
      [FRAME.CONTINUATION, END_HEADERS],
    ]);
    expect(Buffer.concat(frames.map(({ payload }) => payload))).toEqual(block);
  });

  it("answers pings", async () => {
    const server = await connected();
    server.send(frame(FRAME.PING, 0, 0, text("12345678")));
    await settled();
    expect(server.frames.at(-1)).toMatchObject({
      type: FRAME.PING,
      flags: 1,
      payload: text("12345678"),
    });
  });

  describe("flow control", () => {
    const bodies = (server: ScriptedServer, id: number) =>
      server.sent(FRAME.DATA).filter(({ streamId }) => streamId === id);
    const bytes = (server: ScriptedServer, id: number) =>
      bodies(server, id).reduce((sum, { payload }) => sum + payload.length, 0);

    it("sends no more than the window of a stream, and the rest when it is widened", async () => {
      const server = await connected([[SETTING.INITIAL_WINDOW_SIZE, 3]]);
      const { stream } = begin(server);
      const sent: string[] = [];
      stream.write(text("hel"), false, () => sent.push("first"));
      stream.write(text("lo"), true, () => sent.push("second"));
      await settled();
      expect(bodies(server, 1)).toMatchObject([{ payload: text("hel"), flags: 0 }]);
      expect(sent).toEqual(["first"]);
      server.send(windowUpdateFrame(1, 1));
      await settled();
      server.send(windowUpdateFrame(1, 10));
      await settled();
      expect(bodies(server, 1).map(({ payload }) => payload.toString())).toEqual(["hel", "l", "o"]);
      expect(bodies(server, 1).at(-1)?.flags).toBe(END_STREAM);
      expect(sent).toEqual(["first", "second"]);
    });

    it("sends an end without bytes where the window is used up", async () => {
      const server = await connected([[SETTING.INITIAL_WINDOW_SIZE, 0]]);
      const { stream } = begin(server);
      stream.write(Buffer.alloc(0), true);
      await settled();
      expect(bodies(server, 1)).toMatchObject([{ flags: END_STREAM }]);
    });

    it("ends a body without bytes where the server has taken back more of its window than is left", async () => {
      const server = await connected([[SETTING.INITIAL_WINDOW_SIZE, 5]]);
      const { stream } = begin(server);
      stream.write(text("01234"), false);
      await settled();
      server.greet([SETTING.INITIAL_WINDOW_SIZE, 2]);
      await settled();
      stream.write(Buffer.alloc(0), true);
      await settled();
      expect(bodies(server, 1).at(-1)).toMatchObject({ flags: END_STREAM });
    });

    it("shares the window of the connection among streams", async () => {
      const server = await connected([[SETTING.INITIAL_WINDOW_SIZE, 1_000_000]]);
      const body = "x".repeat(60_000);
      begin(server, body);
      begin(server, body);
      begin(server, body);
      await settled();
      expect([bytes(server, 1), bytes(server, 3), bytes(server, 5)]).toEqual([60_000, 5535, 0]);
      server.send(windowUpdateFrame(0, 40_000));
      await settled();
      expect(bytes(server, 3)).toBeGreaterThan(20_000);
      expect(bytes(server, 5)).toBeGreaterThan(10_000);
      server.send(windowUpdateFrame(0, 1_000_000));
      await settled();
      expect([bytes(server, 3), bytes(server, 5)]).toEqual([60_000, 60_000]);
      expect([bodies(server, 3).at(-1)?.flags, bodies(server, 5).at(-1)?.flags]).toEqual([1, 1]);
    });

    it("takes a change of the windows of streams that are open, below zero too", async () => {
      const server = await connected([[SETTING.INITIAL_WINDOW_SIZE, 5]]);
      begin(server, "0123456789");
      await settled();
      server.greet([SETTING.INITIAL_WINDOW_SIZE, 2]);
      server.send(windowUpdateFrame(1, 3));
      await settled();
      expect(bytes(server, 1)).toBe(5);
      server.greet([SETTING.INITIAL_WINDOW_SIZE, 7]);
      await settled();
      expect(bytes(server, 1)).toBe(10);
    });

    it("gives bytes back once they are released, and refuses more than it allowed", async () => {
      const server = await connected();
      const { stream, recorder } = begin(server, "");
      const piece = frame(FRAME.DATA, 0, 1, Buffer.alloc(16_000));
      server.send(frame(FRAME.HEADERS, END_HEADERS, 1, OK), piece, piece, piece, piece);
      await settled();
      expect(server.sent(FRAME.WINDOW_UPDATE)).toEqual([]);
      stream.release(64_000);
      await settled();
      expect(server.sent(FRAME.WINDOW_UPDATE)[0]?.payload.readUInt32BE(0)).toBe(64_000);
      server.send(piece, piece, piece, piece, piece);
      await settled();
      expect(recorder.log.at(-1)).toContain("more was sent than the window allows");
      expect(server.events).toContain("closed");
    });

    it("lets something large come without a pause", async () => {
      const server = await connected();
      const { stream } = begin(server, "");
      stream.ensure(1_000_000);
      await settled();
      const update = server.sent(FRAME.WINDOW_UPDATE)[0]?.payload.readUInt32BE(0);
      expect(update).toBe(1_000_000 - 65_535);
    });
  });

  describe("limits of the server", () => {
    it("waits with requests above the limit of concurrent ones, and refuses what cannot wait", async () => {
      const server = await connected([[SETTING.MAX_CONCURRENT_STREAMS, 1]]);
      const first = begin(server, "1");
      const second = begin(server, "2");
      const third = begin(server, "3");
      const fourth = begin(server, "4");
      await settled();
      expect(server.sent(FRAME.HEADERS)).toHaveLength(1);
      expect(fourth.recorder.failures).toMatchObject([{ kind: "unprocessed" }]);
      second.stream.reset(HTTP2_ERRORS.CANCEL);
      server.send(frame(FRAME.HEADERS, END_HEADERS + END_STREAM, 1, OK));
      await settled();
      expect(first.recorder.log).toEqual(["headers :status=200 end"]);
      expect(server.sent(FRAME.HEADERS).map(({ streamId }) => streamId)).toEqual([1, 3]);
      expect(server.sent(FRAME.DATA).at(-1)?.payload.toString()).toBe("3");
      expect(third.stream.id).toBe(3);
    });

    it("sends frames as large as the server takes", async () => {
      const server = await connected([[SETTING.MAX_FRAME_SIZE, 20_000]]);
      begin(server, "x".repeat(30_000));
      await settled();
      expect(server.sent(FRAME.DATA).map(({ payload }) => payload.length)).toEqual([
        20_000, 10_000,
      ]);
    });
  });

  describe("the end of a stream", () => {
    it("by the server reports its reason, and says where nothing was done", async () => {
      const server = await connected();
      const refused = begin(server, "");
      const reset = begin(server, "");
      server.send(
        resetFrame(1, HTTP2_ERRORS.REFUSED_STREAM),
        resetFrame(3, HTTP2_ERRORS.ENHANCE_YOUR_CALM),
      );
      await settled();
      expect(refused.recorder.failures).toMatchObject([{ kind: "unprocessed" }]);
      expect(reset.recorder.failures).toMatchObject([{ kind: "reset", code: 0xb }]);
    });

    it("by this side says so, and ignores what is still under way", async () => {
      const server = await connected();
      const { stream, recorder } = begin(server, "");
      stream.reset(HTTP2_ERRORS.CANCEL);
      server.send(frame(FRAME.HEADERS, END_HEADERS, 1, OK), frame(FRAME.DATA, 0, 1, text("late")));
      await settled();
      expect(server.sent(FRAME.RST_STREAM)).toMatchObject([{ streamId: 1 }]);
      expect(recorder.log).toEqual([]);
      expect(server.events).toEqual(["ready"]);
    });

    it("by an answer before the request is complete drops the rest of it", async () => {
      const server = await connected([[SETTING.INITIAL_WINDOW_SIZE, 2]]);
      const { recorder, stream } = begin(server, "hello");
      await settled();
      server.send(frame(FRAME.HEADERS, END_HEADERS + END_STREAM, 1, OK));
      await settled();
      stream.write(text("more"), true);
      server.send(windowUpdateFrame(1, 100));
      await settled();
      expect(recorder.log).toEqual(["headers :status=200 end"]);
      expect(server.sent(FRAME.RST_STREAM)).toHaveLength(1);
      expect(server.sent(FRAME.DATA)).toHaveLength(1);
    });
  });

  describe("the end of the connection", () => {
    it("announced by the server leaves the streams that it took, and ends with the last of them", async () => {
      const server = await connected();
      const taken = begin(server, "");
      const left = begin(server, "");
      server.send(goAwayFrame(1, 0));
      await settled();
      expect(left.recorder.failures).toMatchObject([{ kind: "unprocessed" }]);
      expect(begin(server).recorder.failures).toMatchObject([{ kind: "unprocessed" }]);
      expect(server.events).toEqual(["ready", "draining: the server ends the connection"]);
      server.send(frame(FRAME.HEADERS, END_HEADERS + END_STREAM, 1, OK));
      await settled();
      expect(taken.recorder.log).toEqual(["headers :status=200 end"]);
      expect(server.events).toContain("ended");
    });

    it("without a word, in the middle of a frame, loses what is under way", async () => {
      const server = await connected();
      const { recorder } = begin(server, "");
      server.send(
        frame(FRAME.HEADERS, END_HEADERS, 1, OK),
        frame(FRAME.DATA, 0, 1, text("abc")).subarray(0, 10),
      );
      await settled();
      server.cut();
      await settled();
      expect(recorder.log).toEqual(["headers :status=200", "lost: the connection was closed"]);
    });

    it("by this side fails what is under way and says goodbye", async () => {
      const server = await connected();
      const { recorder } = begin(server, "");
      server.connection.close(new Error("enough"));
      await settled();
      expect(recorder.log).toEqual(["lost: enough"]);
      expect(server.frames.at(-1)?.type).toBe(FRAME.GOAWAY);
      expect(server.events).toContain("closed");
    });

    it("comes when the ids of streams are used up", async () => {
      const server = await connected([], { firstStreamId: LARGEST_WINDOW_BYTES });
      const last = begin(server, "");
      expect(last.stream.id).toBe(2 ** 31 - 1);
      expect(server.events).toContain("draining: the connection is used up");
      server.send(frame(FRAME.HEADERS, END_HEADERS + END_STREAM, 2 ** 31 - 1, OK));
      await settled();
      expect(last.recorder.log).toEqual(["headers :status=200 end"]);
    });
  });

  it.each<[string, Buffer]>([
    ["data of a stream that was never opened", frame(FRAME.DATA, 0, 9, text("x"))],
    ["headers of a stream of the server", frame(FRAME.HEADERS, END_HEADERS, 2, OK)],
    ["a pushed answer", frame(FRAME.PUSH_PROMISE, END_HEADERS, 1, [0, 0, 0, 2])],
    ["a continuation of nothing", frame(FRAME.CONTINUATION, END_HEADERS, 1, OK)],
    [
      "a frame in the middle of headers",
      Buffer.concat([frame(FRAME.HEADERS, 0, 1, OK), frame(FRAME.PING, 0, 0, text("12345678"))]),
    ],
    ["a window that is widened by nothing", windowUpdateFrame(1, 0)],
    ["a window that is too large", windowUpdateFrame(0, LARGEST_WINDOW_BYTES)],
    ["a window of a stream that is too large", windowUpdateFrame(1, LARGEST_WINDOW_BYTES)],
    ["settings that are cut off", frame(FRAME.SETTINGS, 0, 0, [0, 1, 0])],
    ["settings of a stream", frame(FRAME.SETTINGS, 0, 1)],
    ["frames that are too small", settingsFrame([[SETTING.MAX_FRAME_SIZE, 100]])],
    ["a first window that is too large", settingsFrame([[SETTING.INITIAL_WINDOW_SIZE, 2 ** 31]])],
    ["a ping of seven bytes", frame(FRAME.PING, 0, 0, text("1234567"))],
    ["a reset without a code", frame(FRAME.RST_STREAM, 0, 1)],
    ["padding longer than its frame", frame(FRAME.DATA, 0x8, 1, [5, 1])],
    ["headers that cannot be decoded", frame(FRAME.HEADERS, END_HEADERS, 1, [0xff])],
    [
      "headers without end",
      Buffer.concat([
        frame(FRAME.HEADERS, 0, 1),
        ...Array.from({ length: 2100 }, () => frame(FRAME.CONTINUATION, 0, 1)),
      ]),
    ],
  ])("ends the connection for %s", async (_, bytes) => {
    const server = await connected();
    const { recorder } = begin(server, "");
    await settled();
    server.send(bytes);
    await settled();
    expect(recorder.failures).toMatchObject([{ kind: "lost" }]);
    expect(recorder.log[0]).toContain("the server does not keep to HTTP/2");
    expect(server.frames.at(-1)?.type).toBe(FRAME.GOAWAY);
  });

  it("says so where something else than HTTP/2 answers", async () => {
    const server = new ScriptedServer();
    const { recorder } = begin(server, "");
    server.send(text("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await settled();
    expect(recorder.log).toEqual(["lost: what answers does not speak HTTP/2"]);
  });

  it("ends for any bytes without an exception, each listener with at most one end", async () => {
    const good = Buffer.concat([
      frame(FRAME.HEADERS, END_HEADERS, 1, OK),
      frame(FRAME.DATA, 0, 1, text("some data")),
      frame(FRAME.PING, 0, 0, text("12345678")),
      windowUpdateFrame(0, 5),
      frame(FRAME.HEADERS, END_HEADERS + END_STREAM, 1, OK),
      goAwayFrame(1, 2),
    ]);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        fc.nat(good.length),
        async (changes, split) => {
          const bytes = Buffer.from(good);
          for (const [at, byte] of changes) bytes[at] = byte;
          const server = await connected();
          const { recorder } = begin(server, "hello");
          server.send(bytes.subarray(0, split));
          await settled();
          server.send(bytes.subarray(split));
          await settled();
          server.cut();
          await settled();
          const ends = recorder.log.filter((line) => line.endsWith(" end")).length;
          expect(ends + recorder.failures.length).toBe(1);
        },
      ),
      { numRuns: 300 },
    );
  });
});
