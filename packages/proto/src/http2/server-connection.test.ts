import { duplexPair } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { http2ErrorName } from "./error-codes.ts";
import {
  CLIENT_PREFACE,
  FRAME,
  headersFrames,
  LARGEST_FRAME_BYTES,
  settingsFrame,
} from "./frame.ts";
import { FrameReader } from "./frame-reader.ts";
import { encodeHeaders } from "./header-block.ts";
import type { Http2Stream } from "./http2-stream.ts";
import { ServerConnection } from "./server-connection.ts";

function serve(startMs?: number) {
  const [near, far] = duplexPair();
  const seen: string[] = [];
  const streams: Http2Stream[] = [];
  const connection = new ServerConnection({
    socket: far,
    headerBytes: 1000,
    maxStreams: 10,
    ...(startMs !== undefined && { startMs }),
    accept: () => ({
      onRequest: (stream, _headers, isEnd) => {
        streams.push(stream);
        seen.push(`request ${isEnd}`);
      },
      onHeaders: () => seen.push("headers"),
      onData: () => seen.push("data"),
      onFailure: ({ kind }) => seen.push(`failure ${kind}`),
    }),
    onClosed: () => seen.push("closed"),
  });
  const frames: string[] = [];
  const reader = new FrameReader(LARGEST_FRAME_BYTES, (type, _flags, _id, payload) => {
    const name = Object.entries(FRAME).find(([, value]) => value === type)?.[0] ?? "";
    frames.push(
      type === FRAME.GOAWAY ? `${name} ${http2ErrorName(payload.readUInt32BE(4))}` : name,
    );
  });
  near.on("data", (chunk: Buffer) => reader.push(chunk));
  return { client: near, connection, frames, seen, streams };
}

const REQUEST = headersFrames(1, encodeHeaders([[":path", "/"]]), true, 16_384);

describe("ServerConnection", () => {
  it("ends a connection on which nothing begins", async () => {
    const { frames, seen } = serve(10);
    await vi.waitFor(() => expect(frames).toContain("GOAWAY SETTINGS_TIMEOUT"));
    expect(seen).toEqual(["closed"]);
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
    expect(seen).toEqual(["closed"]);
  });
});
