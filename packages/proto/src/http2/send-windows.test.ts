import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { DEFAULT_WINDOW_BYTES, FRAME, LARGEST_FRAME_BYTES, SETTING } from "./frame.ts";
import { FrameReader } from "./frame-reader.ts";
import { encodeHeaders } from "./header-block.ts";
import { Http2Stream, type StreamListener } from "./http2-stream.ts";
import { Outbox } from "./outbox.ts";
import { SendWindows } from "./send-windows.ts";

const LISTENER: StreamListener = {
  onHeaders: () => undefined,
  onData: () => undefined,
  onFailure: () => undefined,
};
const TRAILERS = encodeHeaders([["grpc-status", "0"]]);

/** Windows over a sink, with streams of windows that are wide. */
function open(initial = 1_000_000) {
  const socket = new PassThrough();
  const frames: string[] = [];
  const reader = new FrameReader(LARGEST_FRAME_BYTES, (type, _flags, id, payload) => {
    frames.push(type === FRAME.DATA ? `${id} data ${payload.length}` : `${id} headers`);
  });
  socket.on("data", (chunk: Buffer) => reader.push(chunk));
  const windows = new SendWindows(new Outbox(socket));
  windows.takeSetting(SETTING.INITIAL_WINDOW_SIZE, initial);
  windows.applySettings([]);
  const begin = (id: number): Http2Stream => {
    const owner = {
      send: (sent: Http2Stream) => windows.send(sent),
      reset: () => undefined,
      update: () => undefined,
    };
    const stream = new Http2Stream(owner, DEFAULT_WINDOW_BYTES, LISTENER);
    stream.id = id;
    windows.begin(stream);
    return stream;
  };
  const seen = async (): Promise<string[]> => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return frames.splice(0);
  };
  return { windows, begin, seen };
}

describe("SendWindows", () => {
  it("sends headers and an end without bytes behind the bytes that use the window up", async () => {
    const { windows, begin, seen } = open();
    begin(1).write(Buffer.alloc(DEFAULT_WINDOW_BYTES), true);
    const second = begin(3);
    second.write(Buffer.alloc(10), false);
    second.writeHeaders(TRAILERS, true);
    const third = begin(5);
    third.write(Buffer.alloc(10), false);
    third.write(Buffer.alloc(0), true);
    await seen();
    windows.widenConnection(10);
    expect(await seen()).toEqual(["3 data 10", "3 headers"]);
    windows.widenConnection(10);
    expect(await seen()).toEqual(["5 data 10", "5 data 0"]);
  });

  it("shares the window of the connection frame by frame", async () => {
    const { windows, begin, seen } = open();
    begin(1).write(Buffer.alloc(DEFAULT_WINDOW_BYTES), true);
    for (const id of [3, 5]) begin(id).write(Buffer.alloc(20_000), true);
    await seen();
    windows.widenConnection(40_000);
    expect(await seen()).toEqual(["3 data 16384", "5 data 16384", "3 data 3616", "5 data 3616"]);
  });

  it("passes by a stream whose own window is used up meanwhile", async () => {
    const { windows, begin, seen } = open();
    begin(1).write(Buffer.alloc(DEFAULT_WINDOW_BYTES), true);
    const narrow = begin(3);
    narrow.write(Buffer.alloc(100), true);
    const wide = begin(5);
    wide.write(Buffer.alloc(100), true);
    await seen();
    windows.takeSetting(SETTING.INITIAL_WINDOW_SIZE, 0);
    windows.applySettings([narrow]);
    windows.widenConnection(1000);
    expect(await seen()).toEqual(["5 data 100"]);
    windows.widen(narrow, 60);
    windows.widen(narrow, 1000);
    expect(await seen()).toEqual(["3 data 60", "3 data 40"]);
  });
});
