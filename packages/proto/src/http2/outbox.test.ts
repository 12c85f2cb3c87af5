import { PassThrough, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { Outbox } from "./outbox.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("Outbox", () => {
  it("knows what is not with the system yet", async () => {
    const socket = new PassThrough({ writableHighWaterMark: 10, readableHighWaterMark: 10 });
    let progress = 0;
    const outbox = new Outbox(socket, () => (progress += 1));
    outbox.push(Buffer.alloc(100));
    outbox.push(Buffer.alloc(50));
    expect(outbox.unsentBytes).toBe(150);
    await turn();
    outbox.push(Buffer.alloc(30));
    await turn();
    expect(outbox.unsentBytes).toBeGreaterThanOrEqual(30);
    socket.resume();
    while (outbox.unsentBytes > 0) await turn();
    expect(progress).toBe(2);
  });

  it("writes many short frames in few pieces, in order, when they are many bytes together", async () => {
    const sizes: number[] = [];
    let all = Buffer.alloc(0);
    const sink = new Writable({
      writev: (chunks, done) => {
        for (const { chunk } of chunks as { chunk: Buffer }[]) {
          sizes.push(chunk.length);
          all = Buffer.concat([all, chunk]);
        }
        done();
      },
    });
    const outbox = new Outbox(sink as PassThrough);
    const frames = Array.from({ length: 20_000 }, (_, index) => {
      const frame = Buffer.alloc(13);
      frame.writeUInt32BE(index);
      return frame;
    });
    for (const frame of frames) outbox.push(frame);
    await turn();
    expect(sizes.length).toBeLessThan(6);
    expect(all.equals(Buffer.concat(frames))).toBe(true);
  });
});
