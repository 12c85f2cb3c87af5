import { duplexPair } from "node:stream";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { http2ErrorName } from "./error-codes.ts";
import {
  CLIENT_PREFACE,
  FLAG,
  FRAME,
  headersFrames,
  LARGEST_FRAME_BYTES,
  resetFrame,
  SETTING,
  settingsFrame,
  windowUpdateFrame,
} from "./frame.ts";
import { FrameReader } from "./frame-reader.ts";
import { encodeHeaders } from "./header-block.ts";
import type { Http2Stream } from "./http2-stream.ts";
import { ServerConnection } from "./server-connection.ts";

type Options = ConstructorParameters<typeof ServerConnection>[0];

/** @param answer what every request gets at once */
function serve(
  options: Partial<Options> & { readonly answer?: (stream: Http2Stream) => void } = {},
) {
  // So little is taken ahead that a client that pauses is felt at once.
  const [near, far] = duplexPair({ highWaterMark: 1024 });
  const seen: string[] = [];
  const streams: Http2Stream[] = [];
  const connection = new ServerConnection({
    socket: far,
    headerBytes: 1000,
    maxStreams: 10,
    ...options,
    accept: () => ({
      onRequest: (stream, _headers, isEnd) => {
        streams.push(stream);
        seen.push(`request ${isEnd}`);
        options.answer?.(stream);
      },
      onHeaders: () => seen.push("headers"),
      onData: () => seen.push("data"),
      onFailure: ({ kind }) => seen.push(`failure ${kind}`),
    }),
    onClosed: () => seen.push("closed"),
  });
  const frames: string[] = [];
  const whole: { readonly type: number; readonly flags: number; readonly payload: Buffer }[] = [];
  const reader = new FrameReader(LARGEST_FRAME_BYTES, (type, flags, _id, payload) => {
    whole.push({ type, flags, payload: Buffer.from(payload) });
    const name = Object.entries(FRAME).find(([, value]) => value === type)?.[0] ?? "";
    frames.push(
      type === FRAME.GOAWAY ? `${name} ${http2ErrorName(payload.readUInt32BE(4))}` : name,
    );
  });
  near.on("data", (chunk: Buffer) => reader.push(chunk));
  near.on("error", () => undefined);
  // As a socket does.
  near.on("end", () => near.end());
  return { client: near, connection, frames, whole, seen, streams, socket: far };
}

const REQUEST = headersFrames(1, encodeHeaders([[":path", "/"]]), true, 16_384);

describe("ServerConnection", () => {
  it("ends a connection on which nothing begins", async () => {
    const { frames, seen } = serve({ startMs: 10 });
    await vi.waitFor(() => expect(frames).toContain("GOAWAY SETTINGS_TIMEOUT"));
    await vi.waitFor(() => expect(seen).toEqual(["closed"]));
  });

  it("takes a preface and frames in pieces of one byte", async () => {
    const { client, seen } = serve();
    for (const byte of Buffer.concat([CLIENT_PREFACE, settingsFrame([]), REQUEST])) {
      client.write(Buffer.from([byte]));
    }
    await vi.waitFor(() => expect(seen).toEqual(["request true"]));
  });

  it("says once that a request has failed, when the client goes", async () => {
    const { client, seen } = serve();
    client.write(Buffer.concat([CLIENT_PREFACE, settingsFrame([]), REQUEST]));
    await vi.waitFor(() => expect(seen).toEqual(["request true"]));
    client.destroy();
    await vi.waitFor(() => expect(seen).toEqual(["request true", "failure lost", "closed"]));
  });

  it("sends nothing of a stream that it has reset", async () => {
    const { client, frames, streams, connection } = serve();
    client.write(Buffer.concat([CLIENT_PREFACE, settingsFrame([]), REQUEST]));
    await vi.waitFor(() => expect(streams).toHaveLength(1));
    streams[0]?.reset(8);
    streams[0]?.writeHeaders(encodeHeaders([[":status", "200"]]), true);
    connection.close(new Error("over"));
    await vi.waitFor(() => expect(frames).toContain("GOAWAY NO_ERROR"));
    expect(frames).toContain("RST_STREAM");
    expect(frames).not.toContain("HEADERS");
  });

  it.each([
    ["one block", [headersFrames(1, encodeHeaders([["x", "v".repeat(2000)]]), true, 16_384)]],
    ["many continuations", [headersFrames(1, encodeHeaders([["x", "v".repeat(2000)]]), true, 100)]],
  ])("bounds headers in %s", async (_, frames) => {
    const { client, frames: answered, seen } = serve();
    client.write(Buffer.concat([CLIENT_PREFACE, settingsFrame([]), ...frames]));
    await vi.waitFor(() => expect(answered).toContain("GOAWAY ENHANCE_YOUR_CALM"));
    await vi.waitFor(() => expect(seen).toEqual(["closed"]));
  });

  it("tells that it is closed when the socket is", async () => {
    const { client, connection, frames, seen, socket } = serve();
    client.write(Buffer.concat([CLIENT_PREFACE, settingsFrame([]), REQUEST]));
    await vi.waitFor(() => expect(seen).toEqual(["request true"]));
    client.pause();
    connection.close(new Error("over"));
    expect(seen).toEqual(["request true", "failure lost"]);
    client.resume();
    await vi.waitFor(() => expect(seen.at(-1)).toBe("closed"));
    expect(socket.destroyed).toBe(true);
    expect(frames.at(-1)).toBe("GOAWAY NO_ERROR");
  });
});

describe("ServerConnection and a client that does not read", { timeout: 30_000 }, () => {
  const LARGE = encodeHeaders([
    [":status", "200"],
    ["x", "v".repeat(1000)],
  ]);
  const answer = (stream: Http2Stream): void => stream.writeHeaders(LARGE, true);
  const requests = (count: number): Buffer[] =>
    Array.from({ length: count }, (_, index) =>
      headersFrames(2 * index + 1, encodeHeaders([[":path", "/"]]), true, 16_384),
    );

  it("takes no further requests while too much is unsent, and all of them in the end", async () => {
    const { client, frames, seen, socket } = serve({ answer, maxUnsentBytes: 64 * 1024 });
    client.pause();
    client.write(Buffer.concat([CLIENT_PREFACE, settingsFrame([])]));
    // Each is a piece of its own, as the bound is looked at between pieces.
    for (const request of requests(2000)) client.write(request);
    await vi.waitFor(() => expect(socket.isPaused()).toBe(true), { timeout: 10_000 });
    expect(seen.length).toBeLessThan(200);
    client.resume();
    await vi.waitFor(() => expect(seen).toHaveLength(2000), { timeout: 10_000 });
    await vi.waitFor(() => expect(frames.filter((name) => name === "HEADERS")).toHaveLength(2000), {
      timeout: 10_000,
    });
    expect(frames.some((name) => name.startsWith("GOAWAY"))).toBe(false);
  });

  it("counts frames of resets, too", async () => {
    const reset = (stream: Http2Stream): void => stream.reset(8);
    const { client, seen, socket } = serve({ answer: reset, maxUnsentBytes: 1000 });
    client.pause();
    client.write(Buffer.concat([CLIENT_PREFACE, settingsFrame([])]));
    for (const request of requests(2000)) client.write(request);
    await vi.waitFor(() => expect(socket.isPaused()).toBe(true), { timeout: 10_000 });
    expect(seen.length).toBeLessThan(200);
  });

  it("is cut off when it reads nothing for long", async () => {
    const { client, frames, seen } = serve({ answer, maxUnsentBytes: 10_000, stallMs: 20 });
    client.pause();
    client.write(Buffer.concat([CLIENT_PREFACE, settingsFrame([]), ...requests(200)]));
    await vi.waitFor(() => expect(seen.at(-1)).toBe("closed"), { timeout: 10_000 });
    expect(frames).not.toContain("HEADERS");
  });

  it("ends while nothing is read", async () => {
    const { client, connection, seen, socket, streams } = serve({ maxUnsentBytes: 1000 });
    client.pause();
    client.write(Buffer.concat([CLIENT_PREFACE, settingsFrame([]), ...requests(5)]));
    await vi.waitFor(() => expect(streams).toHaveLength(5));
    for (const stream of streams.slice(1)) answer(stream);
    client.write(windowUpdateFrame(0, 1));
    await vi.waitFor(() => expect(socket.isPaused()).toBe(true));
    connection.close(new Error("over"));
    expect(seen.at(-1)).toBe("failure lost");
    client.resume();
    await vi.waitFor(() => expect(seen.at(-1)).toBe("closed"), { timeout: 10_000 });
  });

  it("is left all the time that a drain has, for what it was answered", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const turns = async () => {
      for (let turn = 0; turn < 20; turn += 1) await new Promise((go) => setImmediate(go));
    };
    const { client, connection, frames, seen, socket } = serve({ answer });
    client.pause();
    client.write(Buffer.concat([CLIENT_PREFACE, settingsFrame([]), ...requests(100)]));
    await turns();
    connection.drain();
    await turns();
    await vi.advanceTimersByTimeAsync(25_000);
    expect(socket.destroyed).toBe(false);
    expect(seen).not.toContain("closed");
    client.resume();
    await turns();
    expect(frames.filter((name) => name === "HEADERS")).toHaveLength(100);
    expect(seen.at(-1)).toBe("closed");
  });

  it("has one more second when that time is over", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const turns = async () => {
      for (let turn = 0; turn < 20; turn += 1) await new Promise((go) => setImmediate(go));
    };
    const { client, connection, seen, socket } = serve({ answer });
    client.pause();
    client.write(Buffer.concat([CLIENT_PREFACE, settingsFrame([]), ...requests(100)]));
    await turns();
    connection.drain();
    await turns();
    connection.close(new Error("over"));
    await vi.advanceTimersByTimeAsync(999);
    expect(socket.destroyed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await turns();
    expect(socket.destroyed).toBe(true);
    expect(seen.at(-1)).toBe("closed");
  });
});

describe("ServerConnection and its settings", { timeout: 30_000 }, () => {
  it("says once that it uses no table, after the client has made it smaller", async () => {
    const { client, whole, streams } = serve();
    client.write(
      Buffer.concat([
        CLIENT_PREFACE,
        settingsFrame([
          [SETTING.HEADER_TABLE_SIZE, 0],
          [SETTING.HEADER_TABLE_SIZE, 4096],
        ]),
        REQUEST,
      ]),
    );
    await vi.waitFor(() => expect(streams).toHaveLength(1));
    const block = encodeHeaders([[":status", "200"]]);
    streams[0]?.writeHeaders(block, false);
    streams[0]?.writeHeaders(block, true);
    await vi.waitFor(() => {
      const blocks = whole.filter(({ type }) => type === FRAME.HEADERS);
      expect(blocks.map(({ payload }) => payload)).toEqual([
        Buffer.concat([Buffer.from([0x20]), block]),
        block,
      ]);
    });
  });

  it("applies the window of a frame of settings once", async () => {
    const { client, streams, frames } = serve();
    client.write(Buffer.concat([CLIENT_PREFACE, settingsFrame([]), REQUEST]));
    await vi.waitFor(() => expect(streams).toHaveLength(1));
    streams[0]?.write(Buffer.alloc(100_000), false);
    const windows: number[] = [];
    let window = streams[0]?.sendWindow ?? 0;
    Object.defineProperty(streams[0], "sendWindow", {
      get: () => window,
      set: (value: number) => {
        windows.push(value);
        window = value;
      },
    });
    client.write(
      settingsFrame([
        ...Array.from(
          { length: 2000 },
          (_, index) => [SETTING.INITIAL_WINDOW_SIZE, index] as const,
        ),
        [SETTING.INITIAL_WINDOW_SIZE, 65_535 + 10],
      ]),
    );
    await vi.waitFor(() => expect(frames.filter((name) => name === "SETTINGS")).toHaveLength(3));
    expect(windows).toEqual([10]);
  });

  it("forgets with time which requests were given up", async () => {
    let now = 0;
    const { client, frames, seen } = serve({ now: () => now });
    client.write(Buffer.concat([CLIENT_PREFACE, settingsFrame([])]));
    let id = 1;
    const abandon = async (count: number) => {
      const parts: Buffer[] = [];
      for (let index = 0; index < count; index += 1, id += 2) {
        const headers = headersFrames(id, encodeHeaders([[":path", "/"]]), true, 16_384);
        parts.push(headers, resetFrame(id, 8));
      }
      const before = seen.length;
      client.write(Buffer.concat(parts));
      await vi.waitFor(() => expect(seen.length).toBe(before + 2 * count), { timeout: 10_000 });
    };
    await abandon(9000);
    now += 100_000;
    await abandon(9000);
    expect(frames.some((name) => name.startsWith("GOAWAY"))).toBe(false);
  });

  it("sends the headers behind a body that uses up the window of the connection", async () => {
    const { client, whole, streams } = serve();
    client.write(
      Buffer.concat([
        CLIENT_PREFACE,
        settingsFrame([[SETTING.INITIAL_WINDOW_SIZE, 1_000_000]]),
        REQUEST,
      ]),
    );
    await vi.waitFor(() => expect(streams).toHaveLength(1));
    const block = encodeHeaders([["grpc-status", "0"]]);
    streams[0]?.write(Buffer.alloc(65_535 + 1000), false);
    streams[0]?.writeHeaders(block, true);
    client.write(windowUpdateFrame(0, 1000));
    await vi.waitFor(() =>
      expect(whole.at(-1)).toMatchObject({
        type: FRAME.HEADERS,
        flags: FLAG.END_HEADERS + FLAG.END_STREAM,
      }),
    );
  });
});
